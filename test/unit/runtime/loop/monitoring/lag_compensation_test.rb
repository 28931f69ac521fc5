# frozen_string_literal: true

require "test_helper"
require "penstock/config/settings"
require "penstock/runtime/loop/monitoring/lag_compensation"
require "support/virtual_clock"

module Penstock
  class LagCompensationTest < TestCase
    # Answers with the ends it was given; requests run at once.
    class Driver
      attr_reader :asked
      attr_accessor :ends, :error

      def initialize
        @asked = []
        @ends = {}
      end

      def offsets_for_times(rows, _timeout_ms)
        raise @error if @error
        @asked << rows
        rows.map { |topic, partition, _time| [topic, partition, @ends.fetch([topic, partition], -1), 0] }
      end
    end

    Host = Struct.new(:clock, :told) do
      def threads = self
      def reporter = self
      def start(_name) = yield
      def emit(name, payload) = told << [name, payload[:type]]
    end

    def setup
      @clock = VirtualClock.new
      @driver = Driver.new
      @host = Host.new(@clock, [])
      @lag = compensation
    end

    def compensation(interval: 5_000, pause_age: 10_000, **options)
      settings = Config::Settings::LagCompensation.new(interval, pause_age)
      Runtime::LagCompensation.new(@driver, @host, settings, **options)
    end

    # The corrected figures of partition 0 for these statistics.
    def emit(end_offset, lag:, queued: 5, after: 5_000, partitions: nil)
      @clock.advance(after)
      numbers = {"hi_offset" => end_offset, "ls_offset" => end_offset, "consumer_lag" => lag, "consumer_lag_stored" => -1,
                 "fetchq_cnt" => queued}
      statistics = {"topics" => {"orders" => {"partitions" => partitions || {"0" => numbers, "-1" => {"ls_offset" => 3}}}}}
      @lag.call(statistics)
      numbers.values_at("consumer_lag", "ls_offset", "hi_offset")
    end

    def stand_still(times) = Array.new(times) { emit(100, lag: 10) }

    test "[lag compensation] the lag of a partition that isn't fetched grows, and doesn't jump back on resume" do
      @driver.ends = {["orders", 0] => 150}
      assert_equal [[10, 100, 100]] * 2, stand_still(2)
      assert_empty @driver.asked
      emit(100, lag: 10)
      assert_equal [[["orders", 0, -1]]], @driver.asked
      assert_equal [60, 150, 150], emit(100, lag: 10, after: 100)
      @driver.ends = {["orders", 0] => 180}
      stand_still(1)
      assert_equal [90, 180, 180], emit(100, lag: 10, after: 1)

      assert_equal [80, 180, 180], emit(100, lag: 0, queued: 0, after: 1), "it continues, and nothing is fetched yet"
      assert_equal [75, 185, 185], emit(185, lag: 75, after: 1)
      assert_equal [2, 3, 3], emit(3, lag: 2, after: 1), "the log began again"
    end

    test "one request for all partitions, at most one per interval, and none for those that are being fetched" do
      still = {"hi_offset" => 9, "ls_offset" => 9, "consumer_lag" => 1, "fetchq_cnt" => 1}
      4.times do
        emit(0, lag: 0, after: 2_500, partitions: {"0" => still.dup, "1" => still.dup, "2" => still.merge("fetchq_cnt" => 0)})
      end
      assert_empty @driver.asked
      3.times { emit(0, lag: 0, after: 2_500, partitions: {"0" => still.dup, "1" => still.dup}) }

      assert_equal [[["orders", 0, -1], ["orders", 1, -1]]] * 2, @driver.asked
    end

    test "a partition that went and came back starts again" do
      @driver.ends = {["orders", 0] => 150}
      stand_still(3)
      emit(0, lag: 0, partitions: {})

      assert_equal [10, 100, 100], emit(100, lag: 10)
    end

    test "an error is reported, an unknown lag stays unknown, and 0 disables compensation" do
      @driver.error = KafkaError.build(number: -185, name: "_TIMED_OUT", message: "no answer")
      stand_still(3)
      assert_equal [["error.occurred", "lag_compensation.refresher.error"]], @host.told
      @driver.error = nil
      @driver.ends = {["orders", 0] => 150}
      stand_still(1)
      assert_equal [-1, 150, 150], emit(100, lag: -1)

      @lag = compensation(interval: 0)
      assert_equal [[10, 100, 100]] * 5, stand_still(5)
    end

    test "uncommitted records count where they are read" do
      @lag = compensation(read_committed: false)
      @driver.ends = {["orders", 0] => 150}
      stand_still(3)

      assert_equal [60, 100, 150], emit(100, lag: 10)
    end
  end
end
