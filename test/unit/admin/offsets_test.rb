# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  class AdminOffsetsTest < TestCase
    # Answers list_offsets with the next error number per call, then with 0.
    class Client
      attr_reader :requests, :limits

      def initialize(*numbers)
        @numbers = numbers
        @requests = []
        @limits = []
      end

      def calls = @requests.count(:list_offsets)

      def metadata(_topic, _limit_ms)
        @requests << :metadata
        {topics: {}}
      end

      def list_offsets(wanted, limit_ms, *)
        @requests << :list_offsets
        @limits << limit_ms
        number = @numbers.shift || 0
        wanted.map { |topic, partition, _spec| [topic, partition, 7, -1, nil, number] }
      end
    end

    ELECTION = %i[not_leader_for_partition leader_not_available unknown_leader_epoch fenced_leader_epoch].freeze

    test "a request for a partition whose leader is being elected is retried" do
      client = Client.new(*ELECTION.map { |code| Native.error_number(code) })

      assert_equal({["orders", 0] => 7}, offsets(client).ends([["orders", 0]], :latest))
      assert_equal 5, client.calls
    end

    test "the client gets to know the present leaders before each retry: it would send to the former one again" do
      %i[ends known_ends].each do |name|
        client = Client.new(*ELECTION.first(2).map { |code| Native.error_number(code) })

        assert_equal({["orders", 0] => 7}, offsets(client).public_send(name, [["orders", 0]], :latest))
        assert_equal %i[list_offsets metadata list_offsets metadata list_offsets], client.requests
      end
    end

    test "a retry that concerns no leader requests no metadata" do
      client = Client.new(Native.error_number(:offset_not_available))
      offsets(client).ends([["orders", 0]], :latest)

      assert_equal %i[list_offsets list_offsets], client.requests
    end

    test "a leader that doesn't answer leaves a third of the time for the leader after it" do
      %i[ends known_ends].each do |name|
        client = Client.new(Native.error_number(:timed_out))

        assert_equal({["orders", 0] => 7}, offsets(client).public_send(name, [["orders", 0]], :latest))
        assert_equal %i[list_offsets metadata list_offsets], client.requests
        assert_in_delta 3_333, client.limits.first, 300
        assert_operator client.limits.last, :>, client.limits.first # as a whole: this one has answered at once
      end
    end

    test "an end that no leader has answered about is an error, not a missing one" do
      client = Client.new(Native.error_number(:timed_out), Native.error_number(:timed_out))
      error = assert_raises(KafkaError) { offsets(client).known_ends([["orders", 0]], :latest) }

      assert_equal :timed_out, error.code
      assert_match(%r{\Aorders/0: 127.0.0.1:1: no answer within 5000 ms}, error.message)
    end

    test "any other error is raised at once, with the partition" do
      client = Client.new(Native.error_number(:topic_authorization_failed))
      error = assert_raises(KafkaError) { offsets(client).ends([["orders", 0]], :latest) }

      assert_includes error.message, "orders/0"
      assert_equal 1, client.calls
    end

    test "a time is rounded up to a millisecond, and isn't taken for a negative number that has another meaning" do
      asked = []
      client = Object.new
      client.define_singleton_method(:list_offsets) do |wanted, *|
        asked.concat(wanted.map(&:last))
        wanted.map { |topic, partition, _time| [topic, partition, 0, -1, nil, 0] }
      end
      times = [Time.at(5.0002r), Time.at(0), Time.at(-0.001r), Time.at(-9**9), Time.at(10**17)]
      offsets(client).for_times("orders" => times.each_with_index.to_h { |time, partition| [partition, time] })

      assert_equal [5_001, 0, 0, 0, (2**63) - 1], asked
    end

    test "a number that is no time in ms is refused" do
      [-1, -3, 2**63].each do |number|
        error = assert_raises(InvalidRequestError) { offsets(Client.new).for_times("orders" => {0 => number}) }
        assert_equal "offset #{number}: is none of :earliest, :latest, :max_timestamp, a Time, or ms since 1970", error.message
      end
    end

    # Like librdkafka where none of the partitions has a leader.
    class Leaderless
      def list_offsets(*) = raise(Native.error_for(Native.error_number(:noent), "No leaders found"))
      def metadata(*) = {topics: {"orders" => {error: 0, partitions: {0 => {}, 1 => {}}}}}
    end

    test "topics and partitions that don't exist are named" do
      failed = ->(*pair) { assert_raises(KafkaError) { offsets(Leaderless.new).ends([pair], :latest) } }
      topic, partition, leader = failed.call("missing", 0), failed.call("orders", 7), failed.call("orders", 1)

      assert_equal [:unknown_topic_or_part, :unknown_partition, :leader_not_available], [topic, partition, leader].map(&:code)
      assert_match(%r{\Amissing/0: }, topic.message)
      assert_match(%r{\Aorders/7: orders has 2 partitions, from 0 on}, partition.message)
      assert_match(%r{\Aorders/1: }, leader.message)
    end

    test "the ends of what doesn't exist are left out where an offset may remain of it" do
      assert_empty offsets(Leaderless.new).known_ends([["missing", 0], ["orders", 7]], :latest)
      assert_raises(RetriableError) { offsets(Leaderless.new).known_ends([["orders", 1]], :latest) }
      error = assert_raises(RetriableError) { offsets(Leaderless.new).known_ends([["missing", 0], ["orders", 1]], :latest) }
      assert_match(%r{\Aorders/1: }, error.message)
      %i[unknown_topic_or_part unknown_partition].each do |code|
        assert_empty offsets(Client.new(Native.error_number(code))).known_ends([["orders", 7]], :latest)
      end
    end

    test "partitions none of which has a leader yet are asked for again" do
      %i[ends known_ends].each do |name|
        client, tries = Leaderless.new, 0
        client.define_singleton_method(:list_offsets) do |wanted, *|
          ((tries += 1) < 3) ? super() : wanted.map { |topic, partition, _spec| [topic, partition, 7, -1, nil, 0] }
        end

        assert_equal({["orders", 1] => 7}, offsets(client).public_send(name, [["orders", 1]], :latest))
        assert_equal 3, tries
      end
    end

    private

    def offsets(client, timeout_ms: client.is_a?(Leaderless) ? 200 : 5_000)
      connection = Admin::Connection.new({"bootstrap.servers" => "127.0.0.1:1"})
      session = Admin::Session.new(connection, timeout_ms: timeout_ms, pause_ms: 1)
      session.define_singleton_method(:native) { client }
      Admin::Offsets.new(session)
    end
  end
end
