# frozen_string_literal: true

require "test_helper"
require "json"
require "support/declared_topics"
require "penstock/declaratives/consequences"

module Penstock
  # `penstock topics plan`: shows what would change, and changes nothing.
  class TopicsPlanTest < TestCase
    include TestSupport::DeclaredTopics

    def setup
      super
      declare do
        defaults { replication_factor 3 }
        topic(:new) { partitions 2 }
        topic(:orders) do
          partitions 8
          config("retention.ms": 9)
        end
        topic(:same) { replication_factor 1 }
      end
      @cluster = TestSupport::DeclaredTopics::Cluster.new(
        "orders" => {partitions: 6, config: {"retention.ms" => "10"}}, "same" => {partitions: 1}, "foreign" => {partitions: 9}
      )
    end

    test "each change is a line, with its consequences, then what stays different" do
      found = topics("plan")

      assert_equal [
        "create new with 2 partitions, replication factor 3",
        "add partitions to orders: 6 → 8",
        "  careful: #{Declaratives::Consequences::KEYS}",
        "set orders: retention.ms 10 → 9",
        "  careful: retention.ms goes from 10 to 9: records beyond it are deleted",
        "",
        "not changed:",
        "  same: has replication factor 3, declared is 1: a topic's replicas are moved by kafka-reassign-partitions.sh; " \
        "Admin.plan_topic_replication makes its plan"
      ], found.out.lines(chomp: true)
      assert_equal ["", 0], [found.err, found.code]
      assert_equal 6, @cluster.topics["orders"]
    end

    test "[topics migrate/plan] with --detailed-exitcode 2 means changes and 0 none" do
      assert_equal 2, topics("plan", "--detailed-exitcode").code
      topics("apply", "--yes")

      assert_equal 0, topics("plan", "--detailed-exitcode").code
    end

    test "as JSON: changes with all their values, and notes" do
      found = JSON.parse(topics("plan", "--json").out)

      assert_equal %w[create repartition align], found["changes"].map { |one| one["kind"] }
      assert_equal({"retention.ms" => %w[10 9]}, found["changes"].last["changes"])
      assert_equal ["same"], found["notes"].map { |one| one["topic"] }
    end

    test "three requests are enough for any number of topics" do
      declare { 200.times { |number| topic("t#{number}") } }
      topics("plan", on: @cluster = TestSupport::DeclaredTopics::Cluster.new((0..199).to_h { |number|
        ["t#{number}", {partitions: 1}]
      }))

      assert_equal 3, @cluster.requests
    end

    test "nothing declared, nothing different, and no application" do
      declare {}
      assert_equal ["no topics are declared\n", 0], topics("plan").to_a.values_at(0, 2)
      assert_equal({"changes" => [], "notes" => []}, JSON.parse(topics("plan", "--json").out))
      assert_equal({"changes" => [], "notes" => [], "failed" => []}, JSON.parse(topics("apply", "--json").out))

      declare do
        topic(:foreign) do
          partitions 9
          replication_factor 3
        end
      end
      assert_equal "the cluster has all topics as declared\n", topics("plan").out

      @application = nil
      assert_equal [1, "penstock: topics plan: topics are declared in an application, and no application is loaded\n"],
        topics("plan").to_a.values_at(2, 1)
    end

    test "a plan is saved for topics apply; a file that can't be written is an error" do
      path = File.join(@dir, "plan.json")
      assert_equal "the plan is in #{path}\n", topics("plan", "--out", path).err
      assert_equal 3, JSON.parse(File.read(path))["steps"].size

      assert_match(/no\/folder can't be written: No such file/, topics("plan", "--out", "no/folder").err)
    end

    test "mistakes in the declarations are reported instead of a plan" do
      declare { topic(:orders) { partitions 0 } }

      found = topics("plan")
      assert_equal [1, ""], [found.code, found.out]
      assert_match(/partitions is 0/, found.err)
    end
  end
end
