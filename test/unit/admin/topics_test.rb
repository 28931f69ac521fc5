# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  class AdminTopicsTest < TestCase
    # A cluster that creates any topic; its metadata doesn't have the topic before the given number of requests.
    class Client
      attr_reader :described

      def initialize(visible_after:, error:)
        @visible_after, @error, @described = visible_after, error, 0
      end

      def create_topics(rows, _timeout_ms) = rows.map { |name, *| [name, 0, nil] }

      def metadata(_names, _timeout_ms)
        return {topics: {}} if (@visible_after -= 1) >= 0

        {topics: {"orders" => {error: 0, partitions: {0 => {leader: 1}}}}}
      end

      def describe_topics(names, _timeout_ms, _operations)
        @described += 1
        names.map { |name| [name, Native.error_number(@error), nil, nil, false, [], []] }
      end
    end

    test "a topic that this user may create and not see is created without a wait" do
      client = Client.new(visible_after: 1_000, error: :topic_authorization_failed)
      topics(client).create("orders", 1, 1, {})

      assert_equal 1, client.described
    end

    test "a created topic is waited for until it is visible" do
      client = Client.new(visible_after: 3, error: :unknown_topic_or_part)
      topics(client).create("orders", 1, 1, {})

      assert_equal 3, client.described
    end

    test "a topic that doesn't become visible is reported" do
      error = assert_raises(WaitTimeoutError) do
        topics(Client.new(visible_after: 1_000, error: :unknown_topic_or_part), visible_ms: 20).create("orders", 1, 1, {})
      end

      assert_equal "topic orders with 1 partitions: not visible after 20 ms", error.message
    end

    private

    def topics(client, visible_ms: 5_000)
      connection = Struct.new(:servers, :embedded).new("127.0.0.1:1")
      connection.define_singleton_method(:native) { |_timeout_ms| client }
      Admin::Topics.new(Admin::Session.new(connection, timeout_ms: 5_000, visible_ms: visible_ms, pause_ms: 1))
    end
  end
end
