# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "support/consuming"
require "timeout"

module Penstock
  # How many Ruby methods the poll loop calls while there is little to do. The load of the machine doesn't change these
  # numbers; each is the lowest of several turns, because timers run in some of them.
  class CalmLoopTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    MANY = 300
    # Bounds, a little above what is measured: raise one only where the turn has to do more.
    IDLE = 22
    ONE_RECORD = 265
    # Turns in which partitions may still reach their end: some at a time on a slow machine, each for more than 100 methods.
    SETTLING_TURNS = 60

    def self.topics = {"one" => 1, "many" => MANY}

    # Listeners belong to the workers' side.
    def hears_all? = false

    # Counts the methods written in Ruby that the loop calls in each turn.
    class Turns
      def initialize
        @counts = Thread::Queue.new
        @count = 0
        @handed_out = false
        thread = Thread.list.find { |one| one.name.to_s.end_with?("_default_0") } or raise "no poll loop is running"
        @trace = TracePoint.new(:call, :c_call) { |point| note(point) if Thread.current.equal?(thread) }
      end

      # @param count [Integer] turns to wait for
      # @return [Array<Integer>] methods called in each, after a turn with at most +bound+ or {SETTLING_TURNS}
      def idle(count, bound)
        @only = false
        @trace.enable
        next_count # of the end of a turn that began before
        SETTLING_TURNS.times { break if next_count <= bound }
        Array.new(count) { next_count }
      ensure
        @trace.disable
      end

      # @param count [Integer] turns to wait for in which a unit was handed out
      # @yield before each
      # @return [Array<Integer>] methods called in each
      def handing_out(count)
        @only = true
        @trace.enable
        Array.new(count) do
          yield
          next_count
        end
      ensure
        @trace.disable
      end

      private

      def next_count = Timeout.timeout(60) { @counts.pop }

      def note(point)
        return turn_ended if point.event == :c_call && point.method_id == :wait && point.self.is_a?(Native::Consumer)
        return unless point.event == :call
        @count += 1
        @handed_out = true if point.method_id == :push && point.self.is_a?(Execution::RunQueue)
      end

      def turn_ended
        @counts << @count if @handed_out || !@only
        @count = 0
        @handed_out = false
      end
    end

    def started_on(topic, partitions)
      seen = queue
      running = consuming(topic) { messages.each { |message| seen << message.offset } }
      wait_until(30, "#{partitions} partitions without records", state: -> { running.application.snapshot }) do
        lanes = running.application.snapshot.flat_map { |one| one[:lanes] }
        lanes.size == partitions && lanes.none? { |lane| lane[:ready] || lane[:holds].any? }
      end
      [running, seen]
    end

    test "an idle loop calls as few methods with hundreds of partitions as with one" do
      counts = {"one" => 1, "many" => MANY}.map do |topic, partitions|
        running, _seen = started_on(topic, partitions)
        Turns.new.idle(4, IDLE).min.tap { running.stop }
      end
      assert_operator counts.max, :<=, IDLE, "methods per turn with 1 and with #{MANY} partitions: #{counts}"
    end

    test "a record that comes alone costs the loop as much with hundreds of partitions as with one" do
      counts = {"one" => 1, "many" => MANY}.map do |topic, partitions|
        running, seen = started_on(topic, partitions)
        turns = Turns.new.handing_out(8) do
          produce(topic, %w[record])
          take(seen, 1)
        end
        turns.min.tap { running.stop }
      end
      assert_operator counts.max, :<=, ONE_RECORD, "methods per turn with 1 and with #{MANY} partitions: #{counts}"
    end
  end
end
