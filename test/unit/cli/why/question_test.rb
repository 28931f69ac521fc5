# frozen_string_literal: true

require "test_helper"
require "penstock/cli/why/question"
require "support/fake_reading"

module Penstock
  # The questions to the cluster about one record, and the search for the record itself.
  class WhyQuestionTest < TestCase
    Admin = Struct.new(:bounds, :committed, :members, :stable) do
      def read_watermark_offsets(*) = bounds

      def read_partition_offsets(topics, isolation_level:)
        raise ArgumentError, topics.inspect unless topics == {"orders" => [{partition: 0, offset: :latest}]}
        [{offset: (isolation_level == :read_committed) ? stable || bounds.last : bounds.last}]
      end

      def read_committed_offsets(*) = [committed].compact

      def group_info(_group)
        raise KafkaError.build(number: -1, name: "unsupported_version", message: "no") unless members
        {members: members}
      end
    end
    Target = Struct.new(:cluster, :connection) do
      def admin = yield(cluster)
      def dead_letter_topic(group, topic) = "#{group}.#{topic}.dead"

      def reader(timeout_ms)
        connection.timeout_ms = timeout_ms
        connection
      end
    end

    # @param records [Array<Integer>] offsets of the partition's records
    # @return [CLI::Why::Answer::Facts]
    def facts(offset, *records, bounds: [3, 9], committed: nil, members: nil, timeout: 5, stable: nil)
      log = TestSupport::FakeReading::Log.new(records, *bounds)
      @connection ||= TestSupport::FakeReading.new({["orders", 0] => log})
      target = Target.new(Admin.new(bounds, committed, members, stable), @connection)
      question = CLI::Why::Question.new(target, "g", "orders", 0, {timeout: timeout})
      CLI::Why::Answer.stub(:new, ->(found) { found }) { question.answer(offset) }
    end

    test "the group's dead letters of the topic are among the facts" do
      assert_equal "g.orders.dead", facts(2, 3, 4).dead
    end

    test "a record outside of the log isn't looked for" do
      [2, 9].each do |offset|
        assert_nil facts(offset, 3, 4).exists
        assert_equal 0, @connection.taken
      end
    end

    test "a record that can't be read before a transaction ends isn't looked for" do
      [6, 8].each { |offset| assert_equal [nil, 6], facts(offset, 3, 4, 6, stable: 6).then { |one| [one.exists, one.stable] } }
      assert_equal 0, @connection.taken
      assert_equal true, facts(4, 3, 4, 6, stable: 6).exists
    end

    test "a record in the log exists, and nothing stays assigned" do
      assert facts(4, 3, 4, 5).exists
      assert_empty @connection.assigned
    end

    test "a record that compaction has removed doesn't exist: others follow, or the end" do
      refute facts(4, 3, 5).exists
      @connection = nil
      refute facts(8, 3).exists
    end

    test "if nothing arrives in time it isn't known whether the record exists" do
      @connection = TestSupport::FakeReading.new({["orders", 0] => TestSupport::FakeReading::Log.new([3], 3, 9)})
      @connection.define_singleton_method(:wait) { |_limit| [] }
      assert_nil facts(4, timeout: 0).exists
    end

    test "the member that has the partition is its owner; clusters that describe no members have none" do
      members = [{client_id: "a", host: "h1", id: "m1", partitions: [["orders", 1]]},
        {client_id: "b", host: "h2", id: "m2", partitions: [["orders", 0]]}]
      assert_equal "b on h2 (m2)", facts(2, members: members).owner
      assert_nil facts(2, members: members.first(1)).owner
      assert_nil facts(2).owner
    end

    test "what is complete comes from the commit's metadata, where there is a commit" do
      found = facts(2, committed: {offset: 5, metadata: ""})
      assert_equal [5, 3, 9], [found.committed, found.low, found.high]
      refute_nil found.decoded
      assert_equal [nil, nil], facts(2, committed: {offset: nil, metadata: nil}).then { |one| [one.committed, one.decoded] }
    end
  end
end
