# frozen_string_literal: true

module Penstock
  module Server
    # The work of all worker threads in a period, added up: how long they were busy, how much of that they waited for Ruby's
    # lock, and how long they held it (nil: unknown), in milliseconds. `behind` is whether records waited for their turn, `queued`
    # whether units waited for a worker. A value.
    WorkerLoad = Struct.new(:period_ms, :workers, :busy_ms, :lock_wait_ms, :held_ms, :estimated, :behind, :queued,
      keyword_init: true) do
      class << self
        # @param before [Array(Integer, Integer, Integer)] see {Execution::Threads::Pool#figures}
        # @param after [Array(Integer, Integer, Integer)]
        # @param period_ms [Numeric] between the two
        # @param measured [Boolean] whether waits for the lock are measured; if not, they are estimated
        # @param facts [Hash{Symbol => Object}] the other members
        # @return [WorkerLoad]
        def between(before, after, period_ms:, measured:, **facts)
          busy, waited, held = before.zip(after).map { |from, to| from && to && [(to - from) / 1_000_000.0, 0.0].max }
          waited = measured ? [waited, busy].min : estimate(busy, held, period_ms)
          new(period_ms: period_ms, busy_ms: busy, lock_wait_ms: waited, held_ms: held, estimated: !measured, **facts)
        end

        # @param loads [Array<WorkerLoad>] of consecutive periods with the same number of workers
        # @return [WorkerLoad, nil] of all of them; nil for none
        def sum(loads)
          first = loads.first or return
          totals = %i[period_ms busy_ms lock_wait_ms held_ms].to_h do |name|
            values = loads.map(&name)
            [name, (values.sum if values.none?(&:nil?))]
          end
          new(**totals, workers: first.workers, estimated: first.estimated, behind: loads.all?(&:behind),
            queued: loads.all?(&:queued))
        end

        private

        # The wait for a server that is held for a share u of the time by others is u / (1 - u) times what is computed oneself,
        # and at most what remains of the time.
        def estimate(busy, held, period_ms)
          return if held.nil?
          computed = [held, busy, period_ms].min
          return 0.0 if busy <= period_ms # on average there was no other thread
          by_others = computed / period_ms * (1 - period_ms / busy)
          [computed * by_others / (1 - by_others), busy - computed].min
        end
      end

      # @return [Float] workers that were busy on average
      def busy_workers = busy_ms / period_ms.to_f

      # @return [Float, nil] share of the busy time that was spent waiting for the lock; nil where it isn't known, or without work
      def lock_share = (lock_wait_ms && busy_ms.positive?) ? lock_wait_ms / busy_ms : nil

      # @return [Float, nil] share of the time in which a worker held the lock
      def lock_use = held_ms && [held_ms / period_ms, 1.0].min

      # @return [Hash{Symbol => Object}] for `penstock status` and the health page
      def to_facts
        {workers: workers, busy: busy_workers.round(2), lock_wait: lock_share&.round(3), estimated: estimated,
         over_ms: period_ms.round}.compact
      end
    end
  end
end
