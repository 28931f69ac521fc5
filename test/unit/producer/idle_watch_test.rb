# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
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

    test "a client that accepts nothing for the whole timeout is idle" do
      assert_equal [false, false, true, true], [0, 999, 1, 500].map { |delay_ms| check_after(delay_ms) }
    end

    test "a message restarts the timeout" do
      check_after(0)
      check_after(900)
      @client.accepted += 1

      assert_equal [false, false, true], [200, 999, 1].map { |delay_ms| check_after(delay_ms) }
    end

    test "if the disconnect fails this is reported once, and the watch ends" do
      events = Thread::Queue.new
      refused = IOError.new("refused")
      producer = Object.new
      producer.define_singleton_method(:disconnect) { raise refused }
      producer.define_singleton_method(:instrument) { |name, **payload| events << [name, payload] }
      @client.define_singleton_method(:closed?) { false }
      Producer::IdleWatch.new(producer, @client, 1).start

      assert_equal ["error.occurred", {type: "producer.disconnect.error", error: refused}],
        wait_until(10, "the report") { !events.empty? && events.pop }
      wait_until(10, "the end of its thread") { Thread.list.none? { |thread| thread.name == "penstock idle watch" } }
      assert_empty events
    end

    private

    def check_after(delay_ms)
      @clock.advance(delay_ms)
      @watch.check
    end
  end
end
