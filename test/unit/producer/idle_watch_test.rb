# frozen_string_literal: true

require "test_helper"
require "penstock/producer/idle_watch"
require "support/virtual_clock"

module Penstock
  class IdleWatchTest < TestCase
    Client = Struct.new(:accepted)

    def setup
      @client = Client.new(0)
      @clock = VirtualClock.new
      @watch = Producer::IdleWatch.new(nil, @client, 1_000, clock: @clock)
    end

    test "who takes nothing for the whole time is idle" do
      assert_equal [false, false, true, true], [0, 999, 1, 500].map { |delay_ms| look_after(delay_ms) }
    end

    test "a message begins the time anew" do
      look_after(0)
      look_after(900)
      @client.accepted += 1

      assert_equal [false, false, true], [200, 999, 1].map { |delay_ms| look_after(delay_ms) }
    end

    private

    def look_after(delay_ms)
      @clock.advance(delay_ms)
      @watch.idle?
    end
  end
end
