# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "penstock/instrumentation/kafka_hints"

module Penstock
  class AdminGroupsTest < TestCase
    # A cluster whose topics have three partitions. Records the requests.
    class Client
      attr_reader :calls

      def initialize = @calls = []
      def topics = %w[orders payments].to_h { |name| [name, {error: 0, partitions: [0, 1, 2].to_h { |each| [each, {}] }}] }

      def metadata(names, _timeout_ms)
        @calls << [:metadata, names]
        {topics: topics}
      end

      # Partitions that are reported as unstable, by the number of the request.
      attr_accessor :unstable, :denied

      def groups_offsets(groups, _timeout_ms, _stable)
        return unstable_offsets(groups) if unstable

        @calls << [:committed_offsets, *groups.map(&:first)]
        groups.map do |group, pairs|
          [group, 0, nil, (pairs || [["orders", 0]]).map { |topic, partition| [topic, partition, 4, nil, -1, 0] }]
        end
      end

      def unstable_offsets(groups)
        bad = unstable.shift
        groups.map do |group, pairs|
          next [group, bad, nil, []] if bad.is_a?(Integer)

          @calls << [:stable, group, pairs]
          pairs ||= [0, 1, 2].map { |partition| ["orders", partition] }
          [group, 0, nil, pairs.map { |topic, number| [topic, number, 4, nil, -1, error_of(number, bad)] }]
        end
      end

      def error_of(number, bad)
        return 29 if number == denied

        bad.include?(number) ? 88 : 0
      end

      def list_offsets(wanted, *)
        @calls << [:list_offsets, wanted.size]
        wanted.map { |topic, partition, _spec| [topic, partition, 7 + partition, -1, nil, 0] }
      end
    end

    test "[Consumer lag] a lag takes one request for the commits and one for the ends, for all partitions together" do
      rows = groups.lag("app", nil)

      assert_equal [{group: "app", topic: "orders", partition: 0, committed: 4, end: 7, lag: 3, incomplete: 3}], rows
      assert_equal [[:committed_offsets, "app"], [:list_offsets, 1]], @client.calls
    end

    test "[Consumer lag] of a named topic it takes one more, for its partitions" do
      assert_equal [3, 4, 5], groups.lag("app", %w[orders]).map { |row| row[:lag] }
      assert_equal [[:metadata, nil], [:committed_offsets, "app"], [:list_offsets, 3]], @client.calls
    end

    test "[Consumer lag] what doesn't exist is -1, and hides nothing: a missing topic, a partition that is gone, a group without commits" do
      lags = groups.lags("app" => %w[orders later], "none" => %w[later])
      assert_equal [3, 4, 5], lags.dig("app", "orders").values.map { |found| found[:lag] }
      unknown = {"later" => {0 => {offset: -1, lag: -1}}}
      assert_equal [unknown, unknown], [lags["app"].slice("later"), lags["none"]]
      assert_equal [[:metadata, nil], [:committed_offsets, "app"], [:list_offsets, 3]], @client.calls

      ours = groups
      @client.define_singleton_method(:topics) { super().slice("payments") }
      assert_equal({"app" => {"orders" => {0 => {offset: -1, lag: -1}}}}, ours.lags("app" => nil))
    end

    test "a stable read requests again only partitions with an open transaction" do
      ours = groups
      @client.unstable = [[0, 2], [2], []]
      rows = ours.committed("app", nil, stable: true)

      assert_equal [[0, 4], [1, 4], [2, 4]], rows.map { |row| row.values_at(:partition, :offset) }.sort
      assert_equal [nil, [["orders", 0], ["orders", 2]], [["orders", 2]]], @client.calls.map(&:last)
    end

    test "an error that doesn't pass ends a stable read, also after partitions that are unstable" do
      ours = groups
      @client.unstable = [[0, 2], []]
      @client.denied = 2
      assert_equal :topic_authorization_failed, assert_raises(KafkaError) { ours.committed("app", nil, stable: true) }.code
      assert_equal 1, @client.calls.size
    end

    test "a transaction that stays open ends a stable read with an error whose hint is the way out" do
      ours = groups(timeout_ms: 20)
      timed_out = Native.error_number(:timed_out)
      @client.unstable = [[1], *Array.new(100) { timed_out }]
      error = assert_raises(KafkaError) { ours.committed("app", nil, stable: true) }

      assert_equal :unstable_offset_commit, error.code
      assert_match(%r{group app, orders/1: }, error.message)
      assert_match(/transaction.timeout.ms.*kafka-transactions.sh/, Instrumentation::KafkaHints.of(error))
    end

    private

    def groups(timeout_ms: 5_000)
      @client = client = Client.new
      connection = Admin::Connection.new({"bootstrap.servers" => "127.0.0.1:1"})
      session = Admin::Session.new(connection, timeout_ms: timeout_ms, pause_ms: 1)
      session.define_singleton_method(:native) { client }
      Admin::Groups.new(session, Admin::Offsets.new(session))
    end
  end
end
