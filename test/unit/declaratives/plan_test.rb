# frozen_string_literal: true

require "test_helper"
require "support/declared"

module Penstock
  # Which changes declared topics need, and what a plan leaves alone.
  class DeclarativesPlanTest < TestCase
    include TestSupport::Declared

    def plan(declared, state) = Plan.of(declared.is_a?(Array) ? declared : [declared], state)

    test "a cluster that is as declared needs nothing" do
      found = plan(wanted(config: {"retention.ms" => "5"}),
        cluster(present(config: {"retention.ms" => "5", "segment.ms" => "1"})))

      refute_predicate found, :changes?
      assert_empty found.notes
    end

    test "a missing topic is created with its partitions, replicas and properties" do
      found = plan(wanted(config: {"retention.ms" => "5"}), cluster)

      assert_equal ["create orders with 6 partitions, replication factor 3, retention.ms=5"], found.steps.map(&:to_s)
      assert_empty found.warnings
    end

    test "partitions are added, with the consequence for keys; they are never removed" do
      found = plan(wanted(partitions: 8), cluster(present))
      assert_equal ["add partitions to orders: 6 → 8"], found.steps.map(&:to_s)
      assert_match(/\Aorders: keys are assigned to other partitions/, found.warnings.first)

      fewer = plan(wanted(partitions: 4), cluster(present))
      assert_equal [false, ["orders: has 6 partitions, declared are 4: Kafka can't remove partitions"]],
        [fewer.changes?, fewer.notes.map(&:to_s)]
    end

    test "a different number of replicas is a note that names the way" do
      found = plan(wanted(replication_factor: 1), cluster(present))

      refute_predicate found, :changes?
      assert_match(/has replication factor 3, declared is 1: .*kafka-reassign-partitions\.sh/, found.notes.first.to_s)
    end

    test "only declared properties are compared, and only those that differ are set" do
      found = plan(wanted(config: {"retention.ms" => "9", "segment.ms" => "1"}),
        cluster(present(config: {"retention.ms" => "5", "segment.ms" => "1", "flush.ms" => "3"})))

      assert_equal ["set orders: retention.ms 5 → 9"], found.steps.map(&:to_s)
    end

    test "a property may be declared by the name that the brokers have for it" do
      state = cluster(present(config: {"max.message.bytes" => setting("100", synonyms: %w[message.max.bytes])}))

      assert_equal ["set orders: max.message.bytes 100 → 200"],
        plan(wanted(config: {"message.max.bytes" => "200"}), state).steps.map(&:to_s)
    end

    test "a property that brokers don't have, and a secret one, are notes" do
      found = plan(wanted(config: {"new.property" => "1", "secret" => "x"}),
        cluster(present(config: {"secret" => setting(nil, sensitive: true)})))

      refute_predicate found, :changes?
      assert_equal ["orders: new.property is declared, but the brokers have no such property",
        "orders: secret is a secret value, which can't be compared"], found.notes.map(&:to_s)
    end

    test "a plan can be limited to kinds of steps and keeps its notes" do
      found = plan([wanted("a"), wanted("b", partitions: 7, replication_factor: 1, config: {"retention.ms" => "9"})],
        cluster(present("b", config: {"retention.ms" => "5"})))

      assert_equal %i[create repartition align], found.steps.map(&:kind)
      assert_equal [:align], found.only(:align).steps.map(&:kind)
      assert_equal found.notes, found.only(:create).notes
    end

    # For any declaration: applied to the model of a cluster, the plan leads to a cluster for which the next plan is empty.
    test "a plan that was carried out leaves nothing for the next one" do
      random = Random.new(7)
      200.times do
        declared = %w[a b c].map do |name|
          wanted(name, partitions: random.rand(1..4), config: {"retention.ms" => random.rand(-1..3).to_s})
        end
        state = cluster(*%w[a b].map { |name| present(name, partitions: random.rand(1..4), config: {"retention.ms" => "2"}) })
        found = plan(declared, state)

        refute_predicate plan(declared, carried_out(found, state)), :changes?
      end
    end

    def carried_out(plan, state)
      topics = plan.steps.reduce(state.topics) do |all, step|
        topic = all[step.name]
        all.merge(step.name => case step.kind
                               when :create then present(step.name, partitions: step.partitions, config: step.config)
                               when :repartition then topic.dup.tap { |copy| copy.partitions = step.to }
                               else topic.dup.tap { |copy|
                                      copy.config = copy.config.merge(step.changes.transform_values { |_from, to|
                                        setting(to)
                                      })
                                    }
                               end)
      end
      cluster(*topics.values)
    end
  end
end
