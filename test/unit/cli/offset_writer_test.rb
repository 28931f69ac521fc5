# frozen_string_literal: true

require "test_helper"
require "penstock/cli/offset_writer"
require "minitest/mock"

module Penstock
  # Commits for a group without members, as a client that is not a member.
  class OffsetWriterTest < TestCase
    # A native consumer that returns the given events.
    Consumer = Struct.new(:settings, :events, :committed, :tokens, :closed) do
      def commit(_token, rows) = (self.committed = rows)
      def wait(_ms) = nil
      def poll_event = events.shift
      def close(_ms) = (self.closed = true)
      def oauthbearer_set_token(**token) = (self.tokens = token)
    end
    Provider = Struct.new(:asked) do
      def on_oauthbearer_token_refresh(event) = (self.asked = event[:bearer])
    end

    ROWS = [["orders", 0, 7, nil], ["orders", 1, 9, "m"]].freeze

    def written(*events, settings: {}, timeout_ms: 10_000, rows: ROWS, provider: nil)
      make = ->(given) { @consumer = Consumer.new(given, events) }
      Native::Consumer.stub(:new, make) { CLI::OffsetWriter.new(settings, timeout_ms, provider).call("g", rows) }
    end

    def answer(number, *codes) = [:commit, 1, number, nil, ROWS.zip(codes).map { |row, code| [*row.first(3), code] }]

    # @return [Integer] librdkafka's number
    def code(name) = Native.error_number(name)

    test "the rows are committed for the group, and the connection is closed" do
      written([:log, "x"], answer(0, 0, 0))
      assert_equal [ROWS, true], [@consumer.committed, @consumer.closed]
    end

    test "the client can't become a member: it has no static id, no protocol, and commits nothing by itself" do
      written(answer(0, 0, 0), settings: {"bootstrap.servers" => "a:1", "group.instance.id" => "me",
                                          "group.protocol" => "consumer",
                                          "statistics.interval.ms" => "5", "group.id" => "other"})
      assert_equal({"bootstrap.servers" => "a:1", "group.id" => "g", "enable.auto.commit" => "false"}, @consumer.settings)
    end

    test "an error of the commit, or of one of its partitions, is raised" do
      whole = assert_raises(KafkaError) { written(answer(code(:not_coordinator), 0, 0)) }
      assert_equal :not_coordinator, whole.code
      one = assert_raises(KafkaError) { written(answer(0, 0, code(:topic_authorization_failed))) }
      assert_equal :topic_authorization_failed, one.code
      assert @consumer.closed
    end

    test "a token provider that blocks ends the call after its time limit" do
      blocking = Class.new { def on_oauthbearer_token_refresh(_event) = Thread.stop }.new
      error = assert_raises(WaitTimeoutError) { written([:token_refresh, nil], provider: blocking, timeout_ms: 20) }
      assert_match(/the token provider .* gave no answer within 0\.0/, error.message)
      assert @consumer.closed
    end

    test "a group with members is named as the reason, with the way out" do
      %i[unknown_member_id illegal_generation rebalance_in_progress].each do |name|
        refused = assert_raises(KafkaError) { written(answer(0, code(name), 0)) }
        assert_includes refused.message, "g: it has members; stop all its processes first"
      end
    end

    test "without an answer within the time the error names the group" do
      late = assert_raises(WaitTimeoutError) { written(timeout_ms: 0) }
      assert_equal "no answer to the commit of g within 0 ms", late.message
      assert @consumer.closed
    end

    test "a request for a token goes to the provider" do
      written([:token_refresh, nil], answer(0, 0, 0), provider: provider = Provider.new)
      assert_instance_of Native::Bearer, provider.asked
      written([:token_refresh, nil], answer(0, 0, 0))
    end

    test "nothing is opened to commit nothing" do
      written(rows: [])
      assert_nil @consumer
    end
  end
end
