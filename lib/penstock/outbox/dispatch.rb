# frozen_string_literal: true

require_relative "../errors"
require_relative "entry"
require_relative "refusal"

module Penstock
  module Outbox
    # Sends the chains of one turn: the first row of each chain, and after each acknowledgement the next, so that when a row
    # fails, nothing that follows it has been sent. A row of a closed topic fails without being sent. Belongs to the relay's
    # thread; ends when nothing is in flight any more.
    class Dispatch
      # The progress of a chain. `error` and `failed` belong to the row at which it ended.
      Fate = Struct.new(:chain, :done, :failed, :error, :kind) do
        # @return [Array<Integer>] rows after the one that failed
        def rest = chain.ids.drop(done.size + 1) + chain.followers

        # @return [Fate] of the row that failed, without the rows after it and without its payload
        def alone
          self.class.new(chain.class.new([failed["id"]], [], chain.parked), [], failed.slice("id", "topic", "attempts"), error,
            kind)
        end
      end

      Flight = Struct.new(:fate, :row, :handle)

      # Longest wait before the lock is checked again.
      LOOK_MS = 1_000

      # @return [Array<Fate>]
      attr_reader :fates

      # @param producer [Producer] or an object with the same methods
      # @param rows [Hash{Integer => Hash}] rows by id
      # @param closed [ClosedTopics]
      # @param look_after [#call] raises when the lock was lost
      # @param halt [#call] returns :go, :finish (start nothing new) or :abandon
      # @param clock [Clock]
      def initialize(producer:, rows:, closed:, look_after:, halt:, clock:)
        @producer = producer
        @rows = rows
        @closed = closed
        @look_after = look_after
        @halt = halt
        @clock = clock
        @flights = []
        @fates = []
        @looked_at = clock.monotonic_ms
      end

      # @param chains [Array<Plan::Chain>]
      # @return [Array<Fate>]
      def run(chains)
        @fates = chains.map { |chain| Fate.new(chain, []) }
        @fates.each { |fate| advance(fate) }
        land(@flights.first) until @flights.empty? || @halt.call == :abandon
        @fates
      end

      # @return [Boolean] whether messages may still be in flight
      def flying? = !@flights.empty?

      private

      # A row that was discarded meanwhile counts as finished.
      def advance(fate)
        return unless @halt.call == :go

        id = fate.chain.ids[fate.done.size] or return
        row = @rows[id]
        return finished(fate, id) unless row

        error = @closed.error(row["topic"])
        error ? failed(fate, row, error, :closed) : launch(fate, row)
      end

      def launch(fate, row)
        @flights << Flight.new(fate, row, @producer.produce_async(Entry.message(row)))
      rescue => error
        kind = Refusal.of(error)
        raise if kind == :own

        failed(fate, row, error, kind)
      end

      def land(flight)
        report = await(flight) or return
        @flights.shift
        return delivered(flight) unless report.error

        failed(flight.fate, flight.row, report.error, Refusal.of(report.error))
      end

      def await(flight)
        look
        flight.handle.wait(timeout_ms: LOOK_MS, raise_response_error: false)
      rescue WaitTimeoutError
        nil
      end

      def look
        return if @clock.monotonic_ms - @looked_at < LOOK_MS

        @look_after.call
        @looked_at = @clock.monotonic_ms
      end

      def delivered(flight)
        @closed.open(flight.row["topic"])
        finished(flight.fate, flight.row["id"])
      end

      def finished(fate, id)
        fate.done << id
        advance(fate)
      end

      def failed(fate, row, error, kind)
        @closed.close(row["topic"], error) if kind == :topic
        fate.failed = row
        fate.error = error
        fate.kind = kind
      end
    end
  end
end
