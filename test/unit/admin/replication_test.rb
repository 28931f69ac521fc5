# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/admin"
require "tmpdir"

module Penstock
  # Plans of replicas, without a cluster.
  class AdminReplicationTest < TestCase
    test "[replication plan] what is there stays and leads; the brokers with the fewest replicas get the new ones" do
      plan = planner({0 => [1], 1 => [1], 2 => [1], 3 => [2]}).raise_to(2, nil)

      assert_equal({0 => [1, 3], 1 => [1, 2], 2 => [1, 3], 3 => [2, 3]}, plan.partitions_assignment)
      assert_equal [1, 2], [plan.current_replication_factor, plan.target_replication_factor]
      assert_equal "orders: 1 -> 2 replicas of 4 partitions\n  partition 0: 1 -> 1, 3\n  partition 1: 1 -> 1, 2\n" \
        "  partition 2: 1 -> 1, 3\n  partition 3: 2 -> 2, 3", plan.summary
    end

    test "[replication plan] any plan has the replicas it should, all different, keeps those that exist, and is even" do
      random = Random.new(7)
      50.times do
        brokers = (1..random.rand(2..7)).to_a
        partitions = (0...random.rand(1..20)).to_h { |partition| [partition, [brokers.sample(random: random)]] }
        factor = random.rand(2..brokers.size)
        plan = planner(partitions, brokers).raise_to(factor, nil)
        assignment = plan.partitions_assignment

        assert(assignment.all? { |partition, replicas|
          replicas.uniq.size == factor && replicas.first == partitions[partition].first
        })
        even = planner(assignment, brokers).rebalance.partitions_assignment
        assert(even.values.all? { |replicas| replicas.uniq.size == factor && (replicas - brokers).empty? })
        leaders = even.values.map(&:first).tally
        assert_operator leaders.values.max, :<=, (assignment.size / brokers.size.to_f).ceil
      end
    end

    test "[replication plan] the brokers may be chosen; all that is wrong with them is named" do
      planner = planner({0 => [1], 1 => [2], 2 => [3]})
      assert_equal({0 => [3, 2], 1 => [1, 3], 2 => [1, 2]},
        planner.raise_to(2, {2 => [1, 2], 0 => [3, 2], 1 => [1, 3]}).partitions_assignment)
      error = assert_raises(InvalidRequestError) { planner.raise_to(2, {0 => [1, 1], 1 => [1, 9], 7 => [1, 2]}) }

      assert_equal ["partition 2: has no brokers", "partition 0: names a broker twice: 1, 1",
        "partition 1: names brokers that don't exist: 9",
        "partition 7: doesn't exist in orders"], error.problems.map(&:to_s)
    end

    test "[replication plan] a factor that isn't higher, or higher than there are brokers, is refused" do
      planner = planner({0 => [1, 2]})
      messages = [1, 2, 4, "3"].map { |factor| assert_raises(InvalidRequestError) { planner.raise_to(factor, nil) }.message }

      assert_equal ["replication_factor 1: isn't higher than now, 2. To move replicas only, use plan_topic_rebalance.",
        "replication_factor 2: isn't higher than now, 2. To move replicas only, use plan_topic_rebalance.",
        "replication_factor 4: is more than there are brokers: 1, 2, 3", "replication_factor \"3\": is no Integer"], messages
    end

    test "[replication plan] the files are what Kafka's script takes, and the commands name them" do
      plan = planner({0 => [1], 1 => [2]}).raise_to(3, nil)
      Dir.mktmpdir do |folder|
        paths = %w[plan move].map { |name| File.join(folder, "#{name}.json") }
        plan.export_to_file(paths[0])
        plan.export_topics_to_move_file(paths[1])
        written = paths.map { |path| JSON.parse(File.read(path)) }

        assert_equal [{"topic" => "orders", "partition" => 0, "replicas" => [1, 3, 2]},
          {"topic" => "orders", "partition" => 1, "replicas" => [2, 1, 3]}],
          written[0].fetch("partitions")
        assert_equal [{"version" => 1, "topics" => [{"topic" => "orders"}]}, 1], [written[1], written[0]["version"]]
      end
      assert_equal "kafka-reassign-partitions.sh --bootstrap-server kafka:9092 " \
        "--reassignment-json-file reassignment.json --execute",
        plan.execution_commands("kafka:9092")[:execute]
      assert_equal %i[generate execute verify], plan.execution_commands.keys
      assert_equal 3, plan.steps.size
    end

    private

    def planner(partitions, brokers = [1, 2, 3])
      info = {topic_name: "orders", replication_factor: partitions.values.map(&:size).max,
              partitions: partitions.map { |id, replicas| {partition_id: id, replicas: replicas} }}
      Admin::Replication.planner(info, {brokers: brokers.map { |id| {id: id} }})
    end
  end
end
