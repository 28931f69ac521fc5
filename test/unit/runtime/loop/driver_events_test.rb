# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/driver_events"

module Penstock
  class DriverEventsTest < TestCase
    Driver = Struct.new(:name)
    Parts = Struct.new(:connection)

    # A connection that keeps what is emitted.
    Connection = Struct.new(:now, :group, :driver, :emitted) do
      def emit(_name, payload) = emitted << payload
      def log(_level, _line) = nil
    end

    test "the last failed connection is known" do
      events = Runtime::DriverEvents.new(Parts.new(Connection.new(0, nil, Driver.new("orders"), [])))
      assert_nil events.failed_connection
      events.call([:log, 6, "FAIL", "[thrd:x]: localhost:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused"])

      assert_equal "localhost:1", events.failed_connection.server
    end

    test "the last refusal of a right is known until partitions are assigned, also where the client can't continue" do
      connection = Connection.new(0, Object.new, Driver.new("orders"), [])
      rebalances = Object.new
      def rebalances.handle(_event) = nil
      parts = Struct.new(:connection, :rebalances).new(connection, rebalances)
      events = Runtime::DriverEvents.new(parts)
      assert_nil events.refusal
      events.call([:error, 30, "GROUP_AUTHORIZATION_FAILED", "JoinGroup failed", false])
      assert_equal :group_authorization_failed, events.refusal.code

      events.call([:assign, []])
      assert_nil events.refusal
      refute_predicate events, :refused?
      events.call([:error, -169, "_AUTHENTICATION", "SASL authentication error", false])
      assert_equal [nil, true], [events.refusal, events.refused?]
      error = assert_raises(FatalError) { events.call([:error, 30, "GROUP_AUTHORIZATION_FAILED", "heartbeat", true]) }
      assert_same error, events.refusal
    end

    test "librdkafka's own line about a fatal refusal isn't shown: the error is reported" do
      levels = []
      connection = Connection.new(0, nil, Driver.new("orders"), [])
      connection.define_singleton_method(:log) { |level, _line| levels << level }
      events = Runtime::DriverEvents.new(Parts.new(connection))
      events.call([:log, 0, "FATAL", "[thrd:main]: Fatal error: Broker: Group authorization failed: ConsumerGroupHeartbeat " \
        "fatal error: Broker: Group authorization failed"])
      events.call([:log, 0, "FATAL", "[thrd:main]: Fatal error: Broker: Producer fenced"])
      assert_equal [7, 0], levels
    end
  end
end
