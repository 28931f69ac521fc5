# frozen_string_literal: true

require "test_helper"
require "json"
require "support/declared_topics"

module Penstock
  # `penstock topics apply`, and its parts `create`, `repartition` and `align`: what they change, and what they ask before.
  class TopicsApplyTest < TestCase
    include TestSupport::DeclaredTopics

    def setup
      super
      declare do
        defaults { replication_factor 3 }
        topic(:new)
        topic(:orders) do
          partitions 8
          config("segment.ms": 9)
        end
      end
      @cluster = TestSupport::DeclaredTopics::Cluster.new("orders" => {partitions: 6, config: {"segment.ms" => "10"}})
    end

    def state = @cluster.topics_by_name.transform_values { |topic| [topic[:partitions], topic[:config]] }

    UNCHANGED = {"orders" => [6, {"segment.ms" => "10"}]}.freeze
    CHANGED = {"orders" => [8, {"segment.ms" => "9"}], "new" => [1, {}]}.freeze

    test "[topics migrate/plan] second run exits 0 with detailed flag" do
      assert_equal 2, topics("apply", "--yes", "--detailed-exitcode").code
      assert_equal CHANGED, state

      second = topics("migrate", "--detailed-exitcode")
      assert_equal ["the cluster has all topics as declared\n", "", 0], second.to_a
    end

    test "changes with consequences need --yes or a confirmation; without, nothing is changed at all" do
      refused = topics("apply")
      assert_equal [1, UNCHANGED], [refused.code, state]
      assert_equal "nothing was changed: changes marked with \"careful\" need --yes, or your confirmation in a terminal\n",
        refused.err

      assert_equal [1, UNCHANGED], [topics("apply", typed: "no\n").code, state]
      assert_equal [0, CHANGED], [topics("apply", typed: "yes\n").code, state]
    end

    test "changes without consequences are made at once" do
      declare { topic(:new) { replication_factor 3 } }
      found = topics("apply")

      assert_equal [0, ""], [found.code, found.err]
      assert_includes found.out, "done: create new with 1 partition, replication factor 3\n"
    end

    test "a refused change doesn't keep the others from being made, and the exit code is 1" do
      @cluster.refused = {"new" => kafka_error(:policy_violation, "too few partitions")}
      found = topics("apply", "--yes", "--detailed-exitcode")

      assert_equal 1, found.code
      assert_equal({"orders" => CHANGED["orders"]}, state)
      assert_equal "failed: create new with 1 partition, replication factor 3: too few partitions (policy_violation)\n" \
                   "1 of 3 changes failed; run the command again for what is left\n", found.err.gsub("Penstock::KafkaError: ", "")
    end

    test "create, repartition and align make their part of the changes" do
      topics("create")
      assert_equal UNCHANGED.merge("new" => [1, {}]), state
      topics("align")
      assert_equal [6, {"segment.ms" => "9"}], state["orders"]
      assert_equal 1, topics("repartition").code
      topics("repartition", "--yes")
      assert_equal CHANGED, state
    end

    test "[topics align] a property that somebody changed is set back, also under the brokers' own name for it" do
      topics("apply", "--yes")
      @cluster.topics_by_name["orders"][:config]["segment.ms"] = "77"

      assert_includes topics("align").out, "set orders: segment.ms 77 → 9"
      assert_equal CHANGED, state
    end

    test "as JSON: changes, notes and failures" do
      @cluster.refused = {"new" => kafka_error(:policy_violation, "no")}
      found = JSON.parse(topics("apply", "--yes", "--json").out)

      assert_equal [3, ["new"]], [found["changes"].size, found["failed"].map { |one| one["topic"] }]
    end

    test "a saved plan is applied without asking, and only once" do
      path = File.join(@dir, "plan.json")
      topics("plan", "--out", path)
      assert_equal [0, CHANGED], [topics("apply", path).code, state]

      again = topics("apply", path)
      assert_equal 1, again.code
      assert_match(/plan\.json isn't applied: the cluster has changed since it was made \(.*orders.*\)/, again.err)
    end

    test "a file that isn't there, or isn't a plan, is an error" do
      assert_match(/nowhere\.json can't be read: No such file/, topics("apply", "nowhere.json").err)
      File.write(path = File.join(@dir, "other.json"), "{}")
      assert_match(/isn't applied: it isn't a plan of penstock topics plan/, topics("apply", path).err)
      assert_equal UNCHANGED, state
    end

    test "create refuses options for named topics without a name" do
      assert_match(/name a topic: --partitions is for named ones/, topics("create", "--partitions", "3").err)
    end
  end
end
