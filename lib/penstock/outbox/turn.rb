# frozen_string_literal: true

require_relative "dispatch"
require_relative "plan"
require_relative "settlement"

module Penstock
  module Outbox
    # One round of a relay, under the lock: reads what may be sent, sends it, writes the results. Belongs to the relay's
    # thread. If it fails, {#unsettled} still knows which rows Kafka has acknowledged.
    class Turn
      # @return [Array<Integer>] rows that Kafka has acknowledged and that the table still lists as unsent
      attr_reader :unsettled
      # @return [Settlement, nil] nil if there was nothing to do
      attr_reader :settlement

      # @param store [Store]
      # @param settings [Settings]
      # @param closed [ClosedTopics]
      # @param clock [Clock]
      # @param outage [Outage] only read here
      def initialize(store, settings, closed, clock, outage)
        @outage = outage
        @store = store
        @settings = settings
        @closed = closed
        @clock = clock
        @unsettled = []
      end

      # @param producer [#call] returns the producer, created on first use
      # @param look_after [#call] raises when the lock was lost
      # @param halt [#call] as for {Dispatch}
      # @return [self]
      def run(producer:, look_after:, halt:)
        plan = read
        return self if plan.empty?

        send_all(plan, producer, look_after, halt)
        @settlement = Settlement.new(@fates, plan.blocked, settings: @settings, closed: @closed, now_ms: @clock.wall_ms,
          left_out: @outage.left_out, full: @outage.full?)
        @store.settle(@settlement) if @settlement.any?
        self
      end

      # @return [Boolean] whether messages may still be in flight
      def flying? = @dispatch ? @dispatch.flying? : false

      private

      def read
        Plan.new(Plan.fit(@store.head(@outage.skip), @settings.batch_bytes))
      end

      def send_all(plan, producer, look_after, halt)
        return @fates = [] if plan.chains.empty?

        rows = @store.take(plan.ids).to_h { |row| [row["id"], row] }
        # This query also ends the snapshot of the last one, which would keep PostgreSQL from cleaning up deleted rows
        # meanwhile.
        look_after.call
        @dispatch = Dispatch.new(producer: producer.call, rows: rows, closed: @closed, look_after: look_after, halt: halt,
          clock: @clock)
        @fates = @dispatch.run(plan.chains)
      ensure
        @unsettled = @dispatch.fates.flat_map(&:done) if @dispatch
      end
    end
  end
end
