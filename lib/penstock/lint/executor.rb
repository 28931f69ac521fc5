# frozen_string_literal: true

require_relative "../clock"
require_relative "../execution/executor"
require_relative "violation"

module Penstock
  module Lint
    # Wraps an executor and checks it: it must have the methods of {Execution::Executor} and a run queue, return the
    # values that poll loops expect, and never run two units of one key at once. Behaves like the executor it wraps.
    class Executor
      METHODS = Execution::Executor::METHODS
      QUEUE = Execution::Executor::QUEUE_METHODS
      private_constant :METHODS, :QUEUE

      # @param executor [Object]
      # @raise [Violation] a method is missing
      def initialize(executor)
        @executor = executor
        missing = METHODS.reject { |name| executor.respond_to?(name) }
        missing += QUEUE.reject { |name| executor.queue.respond_to?(name) }.map { |name| "queue.#{name}" } if missing.empty?
        wrong("has no #{missing.join(", ")}", "see Execution::Executor and Execution::RunQueue") unless missing.empty?
      end

      def queue = @executor.queue
      def grow(count = 1) = @executor.grow(count)

      # @return [Array<Array(Object, Processing::Unit)>] runners with their units
      # @raise [Violation]
      def running
        pairs = @executor.running
        well = pairs.is_a?(Array) && pairs.all? { |pair| pair.is_a?(Array) && pair.size == 2 && pair.last.respond_to?(:lane) }
        wrong("returns #{pairs.inspect[0, 60]} from running", "return pairs of runner and unit") unless well
        alone(pairs.map(&:last).select(&:consume?))
        pairs
      end

      # @return [Array<Processing::Unit>] the interrupted units
      # @raise [Violation]
      def interrupt(lanes)
        units = @executor.interrupt(lanes)
        others = units.reject { |unit| lanes.include?(unit.lane) }
        wrong("interrupted units of other lanes", "check unit.lane") if others.any?
        units
      end

      # @return [Integer]
      # @raise [Violation]
      def size
        size = @executor.size
        return size if size.is_a?(Integer) && !size.negative?
        wrong("returns #{size.inspect[0, 40]} from size", "return the number of units it runs at once now, an Integer")
      end

      # @return [Boolean] whether everything has ended
      # @raise [Violation]
      def close(timeout_s)
        started = now
        ended = @executor.close(timeout_s)
        took = now - started
        wrong("took #{took.round(1)} s to close", "end within the given #{timeout_s} s") if took > timeout_s + 1
        return ended if ended == true || ended == false
        wrong("returns #{ended.inspect[0, 40]} from close", "return whether everything has ended, true or false")
      end

      private

      # Units of a lane that runs in order have no key: only one may run at a time.
      def alone(units)
        twice = units.group_by { |unit| [unit.lane, unit.key] }.values.find { |list| list.size > 1 } or return
        lane = twice.first.lane
        wrong("runs two units of #{lane.topic_name}/#{lane.partition} at once that must run in order",
          "take units from its queue")
      end

      def now = Clock.seconds
      def wrong(what, way_out) = raise(Violation, "#{@executor.class} #{what}: #{way_out}")
    end
  end
end
