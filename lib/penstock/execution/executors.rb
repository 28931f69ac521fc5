# frozen_string_literal: true

require_relative "../clock"
require_relative "executor"

module Penstock
  module Execution
    # Combines several executors into one: units go to the executor that their topic's route specifies, hooks to threads.
    #
    # A topic that a pattern discovers uses the pattern's executor; the poll loop announces it first ({#add_topic}).
    #
    # Created at boot by {Placement} if a route has `run_on`; used by poll loops, owns no thread.
    class Executors
      include Executor

      # @param threads [Object] the executor of hooks, and of topics without `run_on`
      # @param by_topic [Hash{Routing::Topic => Object}] the other executors, by their topics
      def initialize(threads, by_topic)
        @threads = threads
        @lock = Mutex.new
        @by_topic = by_topic.transform_keys(&:name).freeze
        @by_pattern = by_topic.select { |topic, _executor| topic.pattern }.transform_keys(&:pattern).compare_by_identity
        @all = [*by_topic.values.uniq, threads]
      end

      # @param topic [Routing::Topic] one that a pattern has discovered
      def add_topic(topic)
        return unless topic.discovered? && !@by_topic.key?(topic.name)
        executor = @by_pattern[topic.pattern] or return
        @lock.synchronize { @by_topic = @by_topic.merge(topic.name => executor).freeze }
      end

      # @!group As a run queue

      # Pushes units. Executors other than threads grow here; the threads grow by the number returned.
      # @return [Integer] threads that could be used in addition to the idle ones
      def push(slot, *units)
        executor = of(slot.topic)
        return @threads.queue.push(slot, *units) if executor.equal?(@threads)
        slot.quick = false # only on threads it is cheaper to leave quick units to one worker
        executor.grow(executor.queue.push(slot, *units))
        0
      end

      def push_hook(slot, unit) = @threads.queue.push_hook(slot, unit)
      def withdraw(slot, unstall: false) = of(slot.topic).queue.withdraw(slot, unstall: unstall)
      def waiting(topic) = of(topic).queue.waiting(topic)
      def await_place(topic, mailbox) = of(topic).queue.await_place(topic, mailbox)
      def idle = @all.sum { |executor| executor.queue.idle }
      def quick_units? = @threads.queue.quick_units?
      def release_stuck(now, stuck_ms) = @threads.queue.release_stuck(now, stuck_ms)

      # @return [Hash] counts for dumps
      def snapshot = @all.map { |executor| executor.queue.snapshot }.reduce { |sum, one| sum.merge(one) { |_name, a, b| a + b } }

      # @!endgroup

      # @!group As an executor

      def queue = self
      def grow(count = 1) = @threads.grow(count)
      def start_missing = @all.each(&:start_missing)
      def start_hook_worker = @threads.start_hook_worker
      def scale(concurrency) = @threads.scale(concurrency)
      def interrupt(*arguments) = @all.flat_map { |executor| executor.interrupt(*arguments) }
      def running = @all.flat_map(&:running)
      def size = @all.sum(&:size)

      # Of the worker threads, which alone are measured.
      def figures = @threads.figures
      def queued? = @threads.queued?

      # Lets all idle workers end at once, and waits for the others, all within the same time.
      # @param timeout_s [Float]
      # @return [Boolean] whether all have ended
      def close(timeout_s)
        @all.each { |executor| executor.queue.close }
        ends = now + timeout_s
        @all.map { |executor| executor.close([ends - now, 0].max) }.all?
      end

      # @!endgroup

      private

      def of(topic) = @by_topic.fetch(topic, @threads)
      def now = Clock.seconds
    end
  end
end
