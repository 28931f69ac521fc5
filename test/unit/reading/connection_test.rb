# frozen_string_literal: true

require "test_helper"
require "penstock/reading/connection"
require "penstock/reading/part"

module Penstock
  # Requests, events and the end of a connection that reads.
  class ReadingConnectionTest < TestCase
    # A native consumer whose calls return what the test sets, or raise it.
    class Client
      attr_reader :events, :closed, :calls, :tokens

      def initialize(**answers)
        @answers = answers
        @events = []
        @calls = []
        @tokens = []
      end

      def answer(name, *arguments)
        @calls << [name, *arguments]
        found = @answers[name]
        found = found.shift if found.is_a?(Array) && found.first.is_a?(Proc)
        found.is_a?(Proc) ? found.call(*arguments) : found
      end

      def metadata(*) = answer(:metadata)
      def offsets_for_times(rows, _limit) = answer(:offsets, rows)
      def commit(token, rows) = answer(:commit, token, rows)
      def fetch_committed(token, pairs, timeout_ms:) = answer(:fetch_committed, token, pairs)
      def assign(rows) = answer(:assign, rows)
      def unassign(rows) = answer(:unassign, rows)
      def lane(topic, partition) = [topic, partition]
      def wait(_ms) = nil
      def poll_event = @events.shift
      def ready_lanes = [4]
      def take(request) = [answer(:take, request)]
      def wakeup = answer(:wakeup)
      def close(ms) = @closed = ms
      def oauthbearer_set_token(**token) = @tokens << token
      def oauthbearer_set_token_failure(reason) = @tokens << reason
    end

    def connected(timeout_ms: 1_000, token_provider: nil, **answers)
      @client = Client.new(**answers)
      Native::Consumer.stub(:new, ->(_settings) { @client }) do
        Reading::Connection.new({}, timeout_ms: timeout_ms, token_provider: token_provider)
      end
    end

    def error(code) = Native.error_for(Native.error_number(code), "broker", "no")

    def topics(**found)
      {topics: found.to_h { |name, (number, count)|
        [name.to_s, {error: number, partitions: Array.new(count) { |index|
          [index, {}]
        }.to_h}]
      }}
    end

    test "the end of a log is asked for by a client of its own, which sees records of open transactions" do
      clients = []
      make = lambda do |settings|
        client = Client.new(offsets: ->(rows) { rows.map { |topic, partition, _time| [topic, partition, 9, 0] } })
        clients << [settings, client]
        client
      end
      Native::Consumer.stub(:new, make) do
        connection = Reading::Connection.new({"client.id" => "c", "isolation.level" => "read_committed"}, timeout_ms: 1_000)
        assert_equal({["t", 0] => 9}, connection.log_ends([["t", 0]]))
      end
      settings, client = clients.last
      assert_equal({"client.id" => "c", "isolation.level" => "read_uncommitted"}, settings)
      assert client.closed
    end

    test "the partitions of topics; all that are missing are named at once" do
      connection = connected(metadata: topics(orders: [0, 3], clicks: [0, 1]))

      assert_equal({"orders" => [0, 1, 2]}, connection.partitions(["orders"]))
      error = assert_raises(KafkaError) { connection.partitions(%w[x orders y]) }
      assert_equal :unknown_topic_or_part, error.code
      assert_match(/\Ax, y: these topics don't exist, or this client may not see them/, error.message)
    end

    test "an election is waited for; other errors are raised at once" do
      electing = Native.error_number(:leader_not_available)
      connection = connected(metadata: [-> { topics(t: [electing, 1]) }, -> { raise error(:timed_out) }, -> {
        topics(t: [0, 1])
      }])
      assert_equal({"t" => [0]}, connection.partitions(["t"]))

      denied = Native.error_number(:topic_authorization_failed)
      error = assert_raises(KafkaError) { connected(offsets: [["t", 0, -1, denied]]).ends([["t", 0]]) }
      assert_equal [:topic_authorization_failed, true], [error.code, error.message.start_with?("t/0: ")]
    end

    test "after the time limit the error that the client reported is the reason; a refused login ends the wait at once" do
      connection = connected(metadata: -> { raise error(:timed_out) }, timeout_ms: 0)
      @client.events << [:error, Native.error_number(:resolve), "_RESOLVE", "unknown host", false]
      failed = assert_raises(KafkaError) { connection.partitions(["t"]) }
      assert_equal [:resolve, "no answer about the topics of the cluster: unknown host (resolve)"], [failed.code, failed.message]

      connection = connected(metadata: -> { raise error(:timed_out) }, timeout_ms: 60_000)
      @client.events << [:error, Native.error_number(:authentication), "_AUTHENTICATION", "bad password", false]
      assert_equal :authentication, assert_raises(KafkaError) { connection.partitions(["t"]) }.code
    end

    test "a fatal error is raised from every wait" do
      connection = connected
      @client.events << [:error, Native.error_number(:fatal), "_FATAL", "lost", true]

      assert_raises(FatalError) { connection.wait(0) }
    end

    test "that all brokers are down, reported later, doesn't hide why; an answer ends what was reported" do
      silent = -> { raise error(:timed_out) }
      connection = connected(timeout_ms: 0, metadata: [silent, silent, -> { topics }, silent])
      @client.events << [:error, Native.error_number(:transport), "_TRANSPORT", "127.0.0.1:1: refused", false]
      2.times do
        @client.events << [:error, Native.error_number(:all_brokers_down), "_ALL_BROKERS_DOWN", "1/1 brokers are down", false]
        failure = assert_raises(KafkaError) { connection.partitions(["t"]) }
        assert_equal :transport, failure.code
        assert_match(/127\.0\.0\.1:1: refused/, failure.message)
      end
      connection.partitions([])

      assert_equal :timed_out, assert_raises(KafkaError) { connection.partitions(["t"]) }.code
    end

    test "beginnings, ends and times are one request each, and none for no partition" do
      connection = connected(offsets: ->(rows) {
        rows.map { |topic, partition, time|
          [topic, partition, (time == 9) ? -1 : 40 + time, 0]
        }
      })
      pairs = [["t", 0], ["t", 1]]

      assert_equal [{["t", 0] => 38, ["t", 1] => 38}, {["t", 0] => 39, ["t", 1] => 39}],
        [connection.beginnings(pairs), connection.ends(pairs)]
      assert_equal({["t", 0] => 47, ["t", 1] => nil}, connection.at({["t", 0] => 7, ["t", 1] => 9}))
      assert_equal 3, @client.calls.size
      assert_equal [{}, {}, {}], [connection.ends([]), connection.at({}), connection.committed([])]
      assert_equal 3, @client.calls.size
    end

    test "a commit waits for its own answer, and the answer of a partition may be an error" do
      connection = connected(commit: ->(token, rows) {
        @client.events << [:commit, token - 1, 5, []] << [:commit, token, 0, rows.map { |topic, partition, offset|
          [topic, partition, offset, @number]
        }]
      })
      @number = 0
      connection.commit([["t", 0, 5, nil, 3]])
      @number = Native.error_number(:unknown_member_id)

      assert_equal :unknown_member_id, assert_raises(KafkaError) { connection.commit([["t", 0, 5, nil, 3]]) }.code
    end

    test "a commit without an answer is tried again until its time limit" do
      connection = connected
      assert_equal :timed_out, assert_raises(KafkaError) { connection.commit([["t", 0, 5, nil, 3]], 0) }.code
    end

    test "what the group has committed; nil for nothing" do
      connection = connected(fetch_committed: ->(token, _pairs) {
        @client.events << [:committed, token, 0, nil, [["t", 0, 7, "", 1, 0], ["t", 1, -1001, nil, -1, 0]]]
      })

      assert_equal({["t", 0] => 7, ["t", 1] => nil}, connection.committed([["t", 0], ["t", 1]]))
    end

    test "partitions are assigned with their offsets, and lanes are closed when they are not fetched any more" do
      connection = connected
      part = Reading::Part.new("t", 0, 5, 9)
      lane = connection.assign([part]).fetch(part)
      closed = false
      lane.define_singleton_method(:close) { closed = true }
      connection.unassign(part => lane)

      assert_equal [[:assign, [["t", 0, 5]]], [:unassign, [["t", 0]]]], @client.calls
      assert closed
      refused = connected(assign: [Native.error_number(:invalid_arg), "bad"])
      assert_match(/assign: bad/, assert_raises(KafkaError) { refused.assign([part]) }.message)
    end

    test "an error of a partition is raised, unless it may pass" do
      batch = Struct.new(:topic, :partition, :error)
      connection = connected
      connection.check(batch.new("t", 0, nil))
      connection.check(batch.new("t", 0, [Native.error_number(:transport), "gone"]))

      assert_equal :transport, connection.last_error.code
      denied = batch.new("t", 0, [Native.error_number(:topic_authorization_failed), "no"])
      assert_equal :topic_authorization_failed, assert_raises(KafkaError) { connection.check(denied) }.code
    end

    test "a token provider that blocks ends the call after the time limit of a request, and the client is closed" do
      provider = Object.new
      provider.define_singleton_method(:on_oauthbearer_token_refresh) { |_event| Thread.stop }
      error = assert_raises(WaitTimeoutError) { connected(token_provider: provider, timeout_ms: 20) }
      assert_match(/the token provider \(Object\) gave no answer within 0.02 s/, error.message)
      assert_equal 2_000, @client.closed
    end

    test "a token is provided at the beginning and when it expires; without a provider the client learns that there is none" do
      provider = Object.new
      provider.define_singleton_method(:on_oauthbearer_token_refresh) do |event|
        event[:bearer].oauthbearer_set_token(token: "t", lifetime_ms: 5, principal_name: "p")
      end
      connection = connected(token_provider: provider)
      @client.events << [:token_refresh, ""]
      connection.wait(0)
      assert_equal 2, @client.tokens.size

      other = connected
      @client.events << [:token_refresh, ""]
      other.wait(0)
      assert_equal ["there is no token provider"], @client.tokens
    end

    test "it is closed after its block, however that is left, and if it can't be opened completely" do
      client = Client.new
      Native::Consumer.stub(:new, ->(_settings) { client }) do
        Reading::Connection.open({}, timeout_ms: 1_000) { break }
        assert client.closed
        client = Client.new
        provider = Object.new
        provider.define_singleton_method(:on_oauthbearer_token_refresh) { |_event| raise IOError }
        assert_raises(IOError) { Reading::Connection.open({}, timeout_ms: 1_000, token_provider: provider) { flunk } }
        assert client.closed
      end
    end
  end
end
