# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/config/settings"
require "penstock/instrumentation/statistics"
require "penstock/native/stats_trim"
require "penstock/runtime/loop/monitoring/lag_compensation"
require "support/virtual_clock"

module Penstock
  class StatisticsTest < TestCase
    def setup
      @now = 1_000
      @statistics = Instrumentation::Statistics.new(-> { @now })
    end

    def emit(tree, after: 5_000)
      @now += after
      @statistics.call(JSON.generate(tree))
    end

    test "[statistics _d/_fd] every number has its change and the time since the last change" do
      emit({"tx" => 10, "brokers" => {"b1" => {"rtt" => {"avg" => 5}}}})
      second = emit({"tx" => 14, "brokers" => {"b1" => {"rtt" => {"avg" => 5}}}})
      assert_equal [4, 0], second.values_at("tx_d", "tx_fd")
      assert_equal [0, 5_000], second.dig("brokers", "b1", "rtt").values_at("avg_d", "avg_fd")
      third = emit({"tx" => 14, "brokers" => {"b1" => {"rtt" => {"avg" => 5}}}})
      assert_equal [5_000, 10_000], [third["tx_fd"], third.dig("brokers", "b1", "rtt", "avg_fd")]
    end

    test "two brokers with the same name are parsed with any version of Ruby's JSON: the later one counts" do
      read = @statistics.call('{"brokers":{"h:1/bootstrap":{"tx":1},"h:1/bootstrap":{"tx":2}}}')
      assert_equal 2, read.dig("brokers", "h:1/bootstrap", "tx")
    end

    test "the first emission reports no change" do
      first = emit({"tx" => 1_000_000})
      assert_equal [0, 0], first.values_at("tx_d", "tx_fd")
    end

    test "text is not changed, and a key that appears later starts without a change" do
      emit({"name" => "c", "a" => 1})
      second = emit({"name" => "c", "a" => 1, "b" => 7})
      assert_equal ["c", 0], second.values_at("name", "b_d")
      refute second.key?("name_d")
    end

    REAL = JSON.parse(File.read(File.join(__dir__, "../native/files/librdkafka-2.16.0-statistics.json"))).freeze

    test "[Stats cost] 10 partitions of 2,000 are at most 200 objects and half a millisecond for each emission" do
      wanted = (100...110).map { |partition| ["orders", partition] }
      json = Native::StatsTrim.keep(text(brokers: 3, partitions: 2_000), wanted)
      lag = compensation
      2.times { @statistics.call(json) { |read| lag.call(read) } } # the names of all figures are known from now on
      rounds = Array.new(20) { measured { @statistics.call(json) { |read| lag.call(read) } } }

      assert_operator rounds.map(&:first).min, :<=, 200
      assert_operator rounds.map(&:last).min, :<=, 0.0005 * BUSY
    end

    test "[Stats cost] what a partition adds is what its figures are parsed into" do
      small, large = [10, 100].map do |count|
        json = Native::StatsTrim.keep(text(partitions: count), Array.new(count) { |partition| ["orders", partition] })
        2.times { @statistics.call(json) }
        Array.new(5) { measured { @statistics.call(json) }.first }.min
      end

      assert_operator large - small, :<=, 90 * 2 + 10 # its Hash and its fetch state
    end

    private

    # The machine may have other work.
    BUSY = 3
    private_constant :BUSY

    def compensation
      process = Struct.new(:clock).new(VirtualClock.new)
      Runtime::LagCompensation.new(nil, process, Config::Settings::LagCompensation.new(30_000, 30_000))
    end

    # The statistics of a client that knows one topic.
    def text(partitions:, brokers: 1)
      broker = REAL["brokers"].values.first
      topic = REAL["topics"]["orders"]
      one = topic["partitions"]["0"]
      rows = (0...partitions).to_h { |number| [number.to_s, one.merge("partition" => number)] }
      JSON.generate(REAL.merge("brokers" => (1..brokers).to_h { |id| ["kafka:9092/#{id}", broker.merge("nodeid" => id)] },
        "topics" => {"orders" => topic.merge("partitions" => rows)}))
    end

    # @return [Array(Integer, Float)] objects, and seconds of this thread's CPU time
    def measured
      objects, seconds = GC.stat(:total_allocated_objects), cpu_seconds
      yield
      [GC.stat(:total_allocated_objects) - objects, cpu_seconds - seconds]
    end

    def cpu_seconds = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  end
end
