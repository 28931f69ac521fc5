# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/instrumentation/statistics"

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
  end
end
