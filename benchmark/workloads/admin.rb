# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # Commands that an operator waits for: lags of many groups, and the plan of many declared topics.
  class Administration < Workload
    NAME = "ADMIN"
    TITLE = "200 groups with 50 partitions each: their lags, `groups list`; `topics plan` of 200 topics that are as declared"
    GROUPS = 200
    PARTITIONS = 50
    TOPIC = "bench-admin"

    def columns = %w[lags_s list_s plan_s]

    def prepare
      topics.create_settled(TOPIC, partitions: PARTITIONS)
      RubySide.run("penstock/admin.rb", {**parameters, fill: true})
      seconds_of("topics", "apply", "--yes")
    end

    def sides
      [
        Side.new(name: "lags in a process that stays", kind: :ours, settings: {}, measure: -> {
          RubySide.run("penstock/admin.rb", parameters)
        }),
        command("penstock groups list", "list_s", "groups", "list", "--bootstrap", broker.bootstrap),
        command("penstock topics plan", "plan_s", "topics", "plan", "--detailed-exitcode")
      ]
    end

    def figures(results)
      [
        at_most("lags in a process that stays", values(results, "lags in a process that stays", "lags_s"), 1.0, "s"),
        at_most("groups list, the whole process", values(results, "penstock groups list", "list_s"), 1.0, "s"),
        at_most("topics plan, the whole process", values(results, "penstock topics plan", "plan_s"), 1.0, "s")
      ]
    end

    private

    def groups = scaled(GROUPS)

    def parameters
      {bootstrap: broker.bootstrap, group: group, settings: {}, topic: TOPIC, groups: groups, partitions: PARTITIONS,
       declared: scaled(GROUPS)}
    end

    # @return [Side] a command from exec to its end
    def command(name, column, *words)
      Side.new(name: name, kind: :ours, settings: {}, measure: -> { {column => seconds_of(*words)} })
    end

    def seconds_of(*words)
      child = RubySide.spawn("penstock/#{words.first(2).join("-")}", parameters,
        env: {"PENSTOCK_BOOT_FILE" => File.join(RubySide::SIDES, "penstock/declared.rb")},
        arguments: [File.join(RubySide::ROOT, "exe/penstock"), *words])
      ended_ns = child.wait_exactly(within: 120)
      raise child.failure("ended with #{child.status.exitstatus}") unless child.status.success?
      raise child.failure("listed too few groups") if words[1] == "list" && File.foreach(child.output).count < groups

      ((ended_ns - child.spawned_ns) / 1e9).round(3)
    ensure
      child&.stop
    end
  end
end
