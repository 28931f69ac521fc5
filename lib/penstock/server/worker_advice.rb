# frozen_string_literal: true

require_relative "worker_load"

module Penstock
  module Server
    # Decides whether more worker threads, or more processes, would help: only while records wait for their turn, and at most once
    # an hour. It looks at the loads of the last minute. Pure: the time is passed in. Owned by the thread that calls it.
    class WorkerAdvice
      PERIOD_MS = 60_000
      EVERY_MS = 3_600_000
      # From this share of the busy time on, the lock is the limit.
      MUCH = 0.5
      # If workers hold the lock for less than this share of the time, it isn't the limit: on a machine without a free CPU threads
      # wait for the lock because the thread that has it doesn't run.
      USED = 0.5
      # Below this share, it is none.
      LITTLE = 0.1
      # All workers count as busy, although each is idle for a moment between two units.
      ALL = 0.95
      # More threads may use the lock for this share of the time: beyond it they would wait for each other.
      USABLE = 0.7
      # At most as many times the present number of threads is suggested at once.
      TIMES = 3
      private_constant :MUCH, :USED, :LITTLE, :ALL, :USABLE, :TIMES

      # `kind` is :processes or :threads; `workers` is the present number of threads, `suggested` the number that would help, nil
      # for processes; `load` is what it is based on.
      Advice = Struct.new(:kind, :workers, :suggested, :load)

      # @param period_ms [Integer] how long a state must last
      # @param every_ms [Integer] shortest time between two pieces of advice
      def initialize(period_ms: PERIOD_MS, every_ms: EVERY_MS)
        @period_ms = period_ms
        @every_ms = every_ms
        @loads = []
        @given_at = nil
      end

      # @param load [WorkerLoad] since the last call
      # @param now [Integer] monotonic ms
      # @param capacity [#call] returns how many units could run at once with any number of threads; asked only if that matters
      # @return [Advice, nil]
      def call(load, now, capacity: -> { Float::INFINITY })
        keep(load)
        return if @loads.sum(&:period_ms) < @period_ms || (@given_at && now - @given_at < @every_ms)
        advice = decide(recent, capacity)
        @given_at = now if advice
        advice
      end

      # @return [WorkerLoad, nil] the load of the last minute, or of the time since the number of workers changed; nil at first
      def recent = WorkerLoad.sum(@loads)

      private

      # Another number of workers is another state.
      def keep(load)
        @loads.clear if @loads.any? && @loads.last.workers != load.workers
        @loads << load
        @loads.shift while @loads.sum(&:period_ms) - @loads.first.period_ms >= @period_ms
      end

      def decide(load, capacity)
        share = load.lock_share
        return if share.nil? || !load.behind
        return Advice.new(:processes, load.workers, nil, load) if share > MUCH && (load.lock_use || USED) >= USED
        return unless share < LITTLE && load.queued && load.busy_workers >= ALL * load.workers
        suggested = suggested(load, capacity.call)
        Advice.new(:threads, load.workers, suggested, load) if suggested > load.workers
      end

      def suggested(load, capacity)
        by_lock = load.lock_use.to_f.positive? ? (load.workers * USABLE / load.lock_use).floor : Float::INFINITY
        [load.workers * TIMES, capacity, by_lock].min
      end
    end
  end
end
