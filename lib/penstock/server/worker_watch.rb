# frozen_string_literal: true

require_relative "../native/lock_meter"
require_relative "worker_advice"

module Penstock
  module Server
    # With `config.lock_metrics`: reads every ten seconds what the worker threads did, emits it (`workers.measured`), and emits
    # advice when it would help (`workers.advised`).
    #
    # One thread, from {#start} to {#close}. {#to_h} is called by any thread.
    class WorkerWatch
      INTERVAL_MS = 10_000
      private_constant :INTERVAL_MS

      # @param host [Runtime::ProcessContext]
      # @param loops [#call] returns the poll loops
      # @param interval_ms [Integer]
      # @param advice [WorkerAdvice]
      def initialize(host, loops, interval_ms: INTERVAL_MS, advice: WorkerAdvice.new)
        @host = host
        @loops = loops
        @interval_ms = interval_ms
        @advice = advice
        @recent = nil
        @lock = Mutex.new
        @wake = ConditionVariable.new
        @closed = false
      end

      # Begins to measure; call it before there are workers.
      # @return [self]
      def start
        Native::LockMeter.start
        @before, @at = @host.pool.figures, now
        @thread = @host.threads.start("penstock workers") { watch }
        self
      end

      # Measures no more, after a last look. Called once the workers have ended, by the thread that started it.
      # @return [void]
      def close
        @lock.synchronize do
          @closed = true
          @wake.signal
        end
        @thread.join
        look
        Native::LockMeter.stop
      end

      # @return [Hash{Symbol => Object}, nil] the load of the last minute; nil at first
      def to_h = @recent&.to_facts

      # Reads the figures and emits what follows; called by the thread.
      # @return [void]
      def look
        after, at = @host.pool.figures, now
        return if at == @at
        load = WorkerLoad.between(@before, after, period_ms: at - @at, measured: Native::LockMeter.hooks?, **facts)
        @before, @at = after, at
        @host.reporter.emit("workers.measured", payload(load))
        advise(load, at)
      end

      private

      def watch = (look until wait)

      # @return [Boolean] whether it is closed
      def wait
        @lock.synchronize do
          @wake.wait(@lock, @interval_ms / 1_000.0) unless @closed
          @closed
        end
      end

      def advise(load, at)
        advice = @advice.call(load, at, capacity: method(:capacity))
        @recent = @advice.recent
        return unless advice
        @host.reporter.emit("workers.advised", {**payload(advice.load), advice: advice.kind, suggested: advice.suggested})
      end

      def now = @host.clock.monotonic_ms

      def facts
        queued = @host.pool.queued?
        {workers: @host.worker_count, queued: queued, behind: queued || @loops.call.any?(&:records_wait?)}
      end

      def payload(load)
        {workers: load.workers, period_ms: load.period_ms, busy_ms: load.busy_ms, lock_wait_ms: load.lock_wait_ms,
         estimated: load.estimated}
      end

      # Records of a partition run one after another, unless its topic is parallel; a topic may have a limit of its own.
      def capacity
        partitions = @loops.call.flat_map(&:assigned).group_by(&:first).select { |topic, _assigned| on_threads?(topic) }
        partitions.sum { |topic, assigned| [assigned.size * width(topic), topic.workers_max].compact.min }
      end

      def on_threads?(topic) = topic.features[:run_on].nil? || topic.features[:run_on].threads?

      # By default as many as there are workers, so more of them would be used.
      def width(topic)
        most = topic.features[:parallel]&.max_partitions or return 1
        (most >= @host.settings.concurrency) ? Float::INFINITY : most
      end
    end
  end
end
