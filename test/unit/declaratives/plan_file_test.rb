# frozen_string_literal: true

require "test_helper"
require "json"
require "support/declared"
require "penstock/declaratives/plan_file"

module Penstock
  # A saved plan is applied only to the cluster for which it was made, in the state in which it was made.
  class DeclarativesPlanFileTest < TestCase
    include TestSupport::Declared

    DECLARED = [["new", {}], ["orders", {"retention.ms" => "9"}], ["clicks", {}]].freeze

    def declared = DECLARED.map { |name, config| wanted(name, partitions: (name == "clicks") ? 9 : 6, config: config) }

    def state(**orders)
      cluster(present(config: {"retention.ms" => "5"}, **orders), present("clicks"))
    end

    def saved = PlanFile.of(Plan.of(declared, state), declared, state).to_json

    def with_steps(*steps) = PlanFile.parse(JSON.generate(JSON.parse(saved).merge("steps" => steps)))

    def refusal(&block) = assert_raises(PlanFile::Refused, &block).message

    test "a plan that was written and read again has the same steps, and is accepted as long as nothing has changed" do
      file = PlanFile.parse(saved)

      assert_equal Plan.of(declared, state).steps, file.plan.steps
      assert_equal %w[new orders clicks], file.names
      assert_nil file.verify!(state)
    end

    test "it is refused when a topic it depends on has changed, appeared or gone" do
      file = PlanFile.parse(saved)

      assert_match(/the cluster has changed since it was made \(orders\): make it again/, refusal {
        file.verify!(state(partitions: 7))
      })
      assert_match(/\(orders\)/, refusal { file.verify!(state(config: {"retention.ms" => "6"})) })
      assert_match(/\(new\)/, refusal { file.verify!(cluster(*state.topics.values, present("new"))) })
      assert_match(/\(clicks\)/, refusal { file.verify!(cluster(present(config: {"retention.ms" => "5"}))) })
    end

    test "other properties and topics may change" do
      file = PlanFile.parse(saved)

      assert_nil file.verify!(cluster(*state(config: {"retention.ms" => "5", "flush.ms" => "1"}).topics.values, present("other")))
    end

    test "it is refused for another cluster" do
      assert_match(/made for cluster c1, this is c2/, refusal { PlanFile.parse(saved).verify!(cluster(id: "c2")) })
    end

    test "a step that doesn't begin with what the basis describes is refused" do
      create = {"kind" => "create", "name" => "new", "partitions" => 1, "replication_factor" => 1, "config" => {},
                "warnings" => []}
      more = {"kind" => "repartition", "name" => "clicks", "from" => 6, "to" => 9, "warnings" => []}
      set = {"kind" => "align", "name" => "orders", "changes" => {"retention.ms" => %w[5 9]}, "warnings" => []}
      [create, more, set].each { |step| assert_equal 1, with_steps(step).plan.steps.size }

      changes = ["9", nil, %w[6 9], ["5", nil], ["5", 9], ["5"]].map { |change| {"retention.ms" => change} }
      changes << {} << {"segment.ms" => %w[5 9]}
      [{**create, "name" => "orders"}, {**create, "partitions" => -5}, {**more, "name" => "new"}, {**more, "from" => 9},
        {**more, "to" => 4}, {**set, "name" => "new"}, *changes.map { |change| {**set, "changes" => change} }].each do |step|
        assert_equal "it can't be read: its step to #{step["kind"]} #{step["name"]} doesn't fit its basis: make it again with " \
          "penstock topics plan", refusal { with_steps(step) }, step.inspect
      end
    end

    test "a property that is declared by its broker's name has its own name in the steps and in the basis" do
      declared = [wanted(config: {"log.retention.ms" => "9"})]
      state = cluster(present(config: {"retention.ms" => setting("5", synonyms: ["log.retention.ms"])}))
      file = PlanFile.parse(PlanFile.of(Plan.of(declared, state), declared, state).to_json)

      assert_equal({"retention.ms" => %w[5 9]}, file.plan.steps.first.changes)
      assert_nil file.verify!(state)
    end

    test "what isn't a plan is refused with the reason" do
      assert_match(/can't be read: /, refusal { PlanFile.parse("{") })
      assert_match(/isn't a plan of penstock topics plan/, refusal { PlanFile.parse("[]") })
      assert_match(/has format 9, this version reads format 1/, refusal { PlanFile.parse('{"penstock_topics_plan": 9}') })
      {
        {"steps" => [{"kind" => "drop"}]} => "there is no step \"drop\"", {"steps" => [{}]} => "key not found: \"kind\"",
        {"steps" => [{"kind" => "create", "name" => "new"}]} => "a step to create has nil for partitions",
        {"basis" => []} => "its basis isn't what this version writes", {"basis" => {"new" => {}}} => "its basis isn't",
        {"basis" => {"new" => nil}} => "it changes orders, clicks, which its basis doesn't describe"
      }.each do |change, reason|
        text = JSON.generate(JSON.parse(saved).merge(change))
        assert_operator refusal { PlanFile.parse(text) }, :start_with?, "it can't be read: #{reason}"
      end
    end
  end
end
