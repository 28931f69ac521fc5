# frozen_string_literal: true

require_relative "../harness/failover_run"
require_relative "../harness/workload"

module Bench
  # Shared by the workloads with failing brokers: three brokers, and the groups of all libraries at the same time on one
  # topic.
  module Failover
    LIBRARIES = {"Penstock" => :ours, "Karafka" => :peer, "Java" => :bound}.freeze
    SETTLE_S = 8

    def columns = %w[died stall_s kept_s moved_s kept_wait_s moved_wait_s behind_s fed_gap_s lost doubled records load]

    # All sides run at the same time: the first that is requested starts a run of all, the others take their part of it.
    def sides
      @results = {}
      LIBRARIES.map do |library, kind|
        settings = (library == "Java") ? FailoverRun::JAVA_SETTINGS : {}
        Side.new(name: library, kind: kind, settings: settings, measure: -> { measured(library) })
      end
    end

    private

    def libraries = sides_wanted.map(&:name)

    def sides_wanted
      LIBRARIES.map { |name, kind| Side.new(name: name, kind: kind) }.select { |side| options.wanted?(side) }
    end

    def measured(library)
      run_all unless @results[library]&.any?
      found = @results.fetch(library).shift
      found.is_a?(Exception) ? raise(found) : found
    end

    def run_all
      outcome = run_once
      libraries.each { |library| (@results[library] ||= []) << outcome.fetch(library) }
    rescue => error
      libraries.each { |library| (@results[library] ||= []) << error }
    end

    # @return [Hash{String => Hash}] figures of each library
    def run_once
      broker.heal
      run = FailoverRun.new(broker, libraries, group_names)
      run.start
      run.note("groups are complete")
      sleep SETTLE_S
      run.begin_measuring
      scenario(run)
      run.finish
      libraries.to_h { |library| [library, run.result(library)] }
    ensure
      run&.stop
    end

    # Groups of one broker, so that all of them lose their coordinator at the same time.
    def group_names
      wanted = nil
      libraries.to_h do |library|
        name = group
        name = group until broker.coordinator(name) == (wanted ||= broker.coordinator(name))
        @coordinator = wanted
        [library, name]
      end
    end

    def promises(results)
      [
        worst("Penstock: processes that died", results, "died", 0),
        worst("Penstock: records lost", results, "lost", 0),
        worst("Penstock: records consumed twice", results, "doubled", 0)
      ]
    end

    def waits(results)
      [
        worst("Penstock: longest wait, kept partitions", results, "kept_wait_s", 2, "s"),
        worst("Penstock: longest wait, moved partitions", results, "moved_wait_s", 2, "s")
      ]
    end

    # The target applies to each run, not to the median.
    def worst(name, results, column, limit, unit = nil)
      at_most(name, [values(results, "Penstock", column).compact.max], limit, unit)
    end

    def others(results, columns)
      (results.keys.map(&:name) - ["Penstock"]).product(columns.to_a).map do |library, (column, (what, unit))|
        seen("#{library}: #{what}", values(results, library, column), unit)
      end
    end
  end

  # Brokers restarted one after another, a member that leaves, one more restart.
  class Rolling < Workload
    include Failover

    NAME = "ROLLING"
    TITLE = "three brokers restarted in order one after another, a member of three leaves, one more restart; 200 records/s in " \
            "6 partitions, one group a library, all at the same time"
    BROKERS = 3
    SHOWN = {"died" => ["processes that died", nil], "stall_s" => ["longest gap", "s"],
             "kept_wait_s" => ["longest wait, kept partitions", "s"], "moved_wait_s" => ["longest wait, moved partitions", "s"],
             "lost" => ["records lost", nil], "doubled" => ["records consumed twice", nil]}.freeze

    def figures(results)
      [
        worst("Penstock: longest gap", results, "stall_s", 2, "s"), *waits(results), *promises(results),
        seen("producer: longest gap", values(results, "Penstock", "fed_gap_s"), "s"), *others(results, SHOWN)
      ]
    end

    private

    def scenario(run)
      (options.quick ? [1] : [1, 2, 3]).each do |id|
        restart(run, id)
        run.note("broker #{id} answers", then_wait: 10)
      end
      run.note("time passes", then_wait: options.quick ? 5 : 10)
      run.note("a member of each group leaves")
      run.leave
      run.note("the members have left", then_wait: options.quick ? 10 : 40)
      restart(run, 1)
      run.note("broker 1 answers", then_wait: 10)
    end

    def restart(run, id)
      run.note("broker #{id} stops")
      broker.stop_broker(id)
      run.note("broker #{id} has stopped", then_wait: 7)
      broker.start_broker(id)
    end
  end

  # The broker that coordinates the groups is killed, and a member leaves while it is away.
  class Coordinator < Workload
    include Failover

    NAME = "COORDINATOR"
    TITLE = "the broker that coordinates the groups is killed (kill -9), a member of three leaves 12 s later, the broker comes " \
            "back; 200 records/s in 6 partitions, one group a library, all at the same time"
    BROKERS = 3
    SHOWN = {"died" => ["processes that died", nil], "kept_s" => ["longest gap, kept partitions", "s"],
             "kept_wait_s" => ["longest wait, kept partitions", "s"], "moved_s" => ["longest gap, moved partitions", "s"],
             "lost" => ["records lost", nil], "doubled" => ["records consumed twice", nil]}.freeze

    def figures(results)
      moved = Statistics.differences(values(results, "Penstock", "moved_s"), values(results, "Java", "moved_s"))
      [
        worst("Penstock: longest wait, kept partitions", results, "kept_wait_s", 2, "s"),
        at_most("Penstock: longest gap beyond Java's, moved partitions", [moved.max], 2, "s"),
        *promises(results), seen("producer: longest gap", values(results, "Penstock", "fed_gap_s"), "s"),
        *others(results, SHOWN)
      ]
    end

    private

    def scenario(run)
      run.note("broker #{@coordinator}, the coordinator, is killed")
      broker.kill_broker(@coordinator)
      run.note("killed", then_wait: 12)
      run.note("a member of each group leaves")
      run.leave
      run.note("the members have left", then_wait: options.quick ? 15 : 40)
      broker.start_broker(@coordinator)
      run.note("broker #{@coordinator} answers", then_wait: options.quick ? 5 : 25)
    end
  end
end
