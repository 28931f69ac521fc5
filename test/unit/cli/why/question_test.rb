# frozen_string_literal: true

require "test_helper"
require "penstock/cli/why/question"

module Penstock
  # The questions to the cluster about one record, and the search for the record itself.
  class WhyQuestionTest < TestCase
    # A batch that was taken.
    Batch = Struct.new(:offsets, :eof) do
      def size = offsets.size
      def offset(index) = offsets[index]
    end
    # A native consumer whose takes return these batches, one after another.
    Client = Struct.new(:batches, :seeks, :closed) do
      def lane(*) = :lane
      def assign(_places) = nil
      def wait(_ms) = nil
      def poll_event = nil
      def take(_request) = [batches.shift]
      def seek(_lane, offset) = seeks << offset
      def close(_ms) = (self.closed = true)
    end
    Admin = Struct.new(:bounds, :committed, :members) do
      def read_watermark_offsets(*) = bounds
      def read_committed_offsets(*) = [committed].compact

      def group_info(_group)
        raise KafkaError.build(number: -1, name: "unsupported_version", message: "no") unless members
        {members: members}
      end
    end
    Target = Struct.new(:cluster, :client) do
      def admin = yield(cluster)
      def consumer_settings = {}
      def dead_letter_topic(group, topic) = "#{group}.#{topic}.dead"
      def consumer(_settings) = client
    end

    # @return [CLI::Why::Answer::Facts]
    def facts(offset, *batches, bounds: [3, 9], committed: nil, members: nil, timeout: 5)
      @client = Client.new(batches, [])
      target = Target.new(Admin.new(bounds, committed, members), @client)
      question = CLI::Why::Question.new(target, "g", "orders", 0, {timeout: timeout})
      CLI::Why::Answer.stub(:new, ->(found) { found }) { question.answer(offset) }
    end

    test "the group's dead letters of the topic are among the facts" do
      assert_equal "g.orders.dead", facts(2, Batch.new([3, 4], false)).dead
    end

    test "a record outside of the log isn't looked for" do
      [2, 9].each do |offset|
        assert_nil facts(offset, Batch.new([3, 4], false)).exists
        assert_equal 1, @client.batches.size
      end
    end

    test "a record in the first batch is found without a seek" do
      assert facts(4, Batch.new([3, 4, 5], false)).exists
      assert_empty @client.seeks
      assert @client.closed
    end

    test "otherwise the reader seeks once something has arrived, and looks at what comes from there" do
      assert facts(7, nil, Batch.new([3], false), Batch.new([3], false), Batch.new([7, 8], false)).exists
      assert_equal [7], @client.seeks
    end

    test "a record that compaction has removed doesn't exist: others arrive instead, or the end" do
      refute facts(7, Batch.new([3], false), Batch.new([8], false)).exists
      refute facts(4, Batch.new([3, 5], false)).exists
      refute facts(7, Batch.new([3], false), Batch.new([], true)).exists
    end

    test "if nothing arrives in time it isn't known whether the record exists" do
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
