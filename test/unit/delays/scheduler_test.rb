# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/virtual_clock"
require "penstock/delays/scheduler"
require "penstock/routing/delay_tiers"

module Penstock
  class SchedulerTest < TestCase
    TIERS = Routing::DelayTiers.new("shop", Routing::DelayTiers::DELAYS)

    def setup
      super
      @clock = VirtualClock.new
      @scheduler = Delays::Scheduler.new(tiers: -> { TIERS }, producer: -> { raise "not asked" }, clock: @clock)
    end

    test "a message that is due later becomes one that waits; nothing of it is lost, and it isn't changed" do
      message = {topic: :mails, payload: "p", key: "k", partition_key: "c", timestamp: Time.at(5, 250, :millisecond),
                 headers: {"a" => "1", "penstock_due_at" => "9"}, label: 7}.freeze
      waiting = @scheduler.call(message, @clock.wall_ms + 700_000)
      headers = waiting[:headers]

      assert_equal ["shop.delay.5", 0, "p", 7], waiting.values_at(:topic, :partition, :payload, :label)
      assert_empty waiting.keys & %i[key partition_key timestamp]
      assert_equal ["mails", "k", "c", "5250", "1"], headers.values_at("penstock_delay_topic", "penstock_delay_key",
        "penstock_delay_partition_key", "penstock_delay_timestamp", "a")
      assert_equal [700_000, 600_000].map { |wait|
        (@clock.wall_ms + wait).to_s
      }, headers.values_at("penstock_delay_until", "penstock_due_at")
      assert_match(/\A\h{8}-/, headers["penstock_delay_id"])
    end

    test "a time that has passed: the message itself" do
      message = {topic: "t", payload: "p"}
      assert_same message, @scheduler.call(message, @clock.wall_ms)
    end

    test "what can't be delayed is refused, with the reason" do
      refuse = ->(error, text, message, at) {
        assert_match(text, assert_raises(error) {
          @scheduler.schedule(message, at: at)
        }.message)
      }
      fine = {topic: "t", payload: "p"}
      refuse.call(ArgumentError, /at: must be a Time, or Integer milliseconds.*"tomorrow"/, fine, "tomorrow")
      refuse.call(ArgumentError, /between 1970 and 9999/, fine, 10**16)
      refuse.call(MessageInvalidError, /:payload is missing/, {topic: "t"}, @clock.wall_ms + 5)
      refuse.call(MessageInvalidError, /:topic must be a name/, {topic: "a b", payload: "p"}, @clock.wall_ms + 5)
      none = Delays::Scheduler.new(tiers: -> {}, producer: -> {}, clock: @clock)
      error = assert_raises(ConfigurationError) { none.schedule(fine, at: @clock.wall_ms + 5) }
      assert_match(/Write delay_topics in the block of routes.draw; for a job, active_job_topic/, error.message)
    end

    test "what isn't a list of messages with their times is refused, and nothing is sent" do
      fine = [{topic: "t", payload: "p"}, @clock.wall_ms]
      {nil => "schedule_many takes pairs, [[message, time], …], not nil",
       [fine, fine.first] => "message 1: schedule_many takes pairs, [[message, time], …], not #{fine.first.inspect}",
       [fine, [fine.first]] => "message 1: schedule_many takes pairs, [[message, time], …], not #{[fine.first].inspect}",
       [[fine.first, nil]] => "message 0: its time must be a Time, or Integer milliseconds since 1970, is nil"}
        .each do |given, text|
        assert_equal text, assert_raises(ArgumentError) { @scheduler.schedule_many(given) }.message
      end
    end

    test "many messages go to the broker in one call, each with its own time" do
      calls = []
      producer = Object.new
      producer.define_singleton_method(:produce_many_sync) { |messages| calls << messages.map { |one| one[:topic] } }
      scheduler = Delays::Scheduler.new(tiers: -> { TIERS }, producer: -> { producer }, clock: @clock)
      now = Time.at(0, @clock.wall_ms, :millisecond)
      scheduler.schedule_many([[{topic: "t", payload: "1"}, now + 5], [{topic: "t", payload: "2"}, now - 5]])

      assert_equal [%w[shop.delay.2 t]], calls
    end
  end
end
