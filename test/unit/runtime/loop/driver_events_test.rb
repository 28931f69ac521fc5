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
  end
end
