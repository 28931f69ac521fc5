# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/log/ticker"

module Penstock
  class LogTickerTest < TestCase
    def setup
      @before = Thread.list
      @calls = 0
      @left = Queue.new
    end

    def threads = Thread.list - @before

    def ticker
      Instrumentation::Log::Ticker.new(every: 0.001) do
        @calls += 1
        !(@left.empty? || @left.pop.nil?)
      end
    end

    test "its thread calls the block as long as there is something to do, ends, and is started again" do
      ticker = ticker()
      2.times do |round|
        5.times { @left << true }
        ticker.wake
        threads.each { |thread| assert thread.join(30), "it hasn't ended" }

        assert_operator @calls, :>=, 6 * (round + 1)
        assert_empty @left
      end
    end

    test "it has one thread, also if many threads wake it at once" do
      ticker = Instrumentation::Log::Ticker.new(every: 60) { true }
      Array.new(20) { Thread.new { ticker.wake } }.each(&:join)

      assert_equal 1, threads.size
    ensure
      threads.each(&:kill).each(&:join)
    end
  end
end
