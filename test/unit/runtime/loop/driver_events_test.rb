# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/driver_events"
require "penstock/runtime/loop/monitoring/no_partitions_warning"

module Penstock
  class DriverEventsTest < TestCase
    Group = Struct.new(:consumer_group, :active_topics)
    Missing = Struct.new(:names, :told_at)
    Driver = Struct.new(:member_id, :name)
    Parts = Struct.new(:connection)

    # A connection that keeps what is emitted.
    Connection = Struct.new(:now, :epoch, :group, :missing, :driver, :emitted) do
      def emit(_name, payload) = emitted << payload
      def log(_level, _line) = nil
    end

    def setup
      group = Group.new(Struct.new(:id).new("app"), [])
      @connection = Connection.new(0, 0, group, Missing.new([], nil), Driver.new("", "orders"), [])
      @events = Runtime::DriverEvents.new(Parts.new(@connection))
    end

    def reason
      warning = Runtime::NoPartitionsWarning.new(@connection, @events)
      @connection.now += Runtime::NoPartitionsWarning::FIRST_MS
      warning.run
      @connection.emitted.last[:reason]
    end

    test "a group without partitions is explained by the last failed connection, as far as there was one" do
      assert_includes reason, "is the broker reachable?"
      @events.call([:log, 6, "FAIL", "[thrd:x]: localhost:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused"])

      assert_equal "localhost:1", @events.diagnosis.server
      assert_equal @events.diagnosis.to_s, reason
    end
  end
end
