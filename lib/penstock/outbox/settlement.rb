# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Outbox
    # Decides what to write to the table at the end of a turn. Pure: computed from the results of the chains.
    class Settlement
      # A row whose partition is unavailable while others are sent is retried after this time, in ms.
      STUCK_MS = 5_000
      # Longest text of an error: it could be as long as a record.
      ERROR_SIZE = 500

      # One event for the rows of a topic that failed with the same error.
      Report = Struct.new(:event, :topic, :rows, :error, :attempt, :retry_in_ms)

      # @return [Array<Integer>] rows that Kafka has acknowledged
      attr_reader :done
      # @return [Hash{Integer => Hash}] row => columns
      attr_reader :parked
      # @return [Hash{Integer => Hash}] row => columns
      attr_reader :aside
      # @return [Hash{Integer => Array<Integer>}] parked row => rows that wait for it
      attr_reader :held
      # @return [Array<Integer>] rows for which no other row has to wait any more
      attr_reader :released
      # @return [Array<Dispatch::Fate>] rows that couldn't be sent in a turn that sent nothing: the cluster may be
      #   unavailable
      attr_reader :stuck

      # @param fates [Array<Dispatch::Fate>]
      # @param blocked [Hash{Integer => Array<Integer>}] as {Plan#blocked}
      # @param settings [Settings]
      # @param closed [ClosedTopics]
      # @param now_ms [Integer] wall clock
      # @param left_out [Array<Dispatch::Fate>] rows that earlier turns found stuck, and that this turn didn't send
      # @param full [Boolean] whether no more rows can be left out, so that they are parked in any case
      def initialize(fates, blocked, settings:, closed:, now_ms:, left_out: [], full: false)
        @settings = settings
        @closed = closed
        @now_ms = now_ms
        @parked = {}
        @aside = {}
        @held = blocked.to_h { |blocker, ids| [blocker, ids.dup] }
        @reports = []
        @done = fates.flat_map(&:done)
        @released = fates.select { |fate| fate.chain.parked && fate.done.any? }.map { |fate| fate.chain.ids.first }
        failed = fates.select(&:failed)
        @resolved = full || @done.any?
        @stuck = resolved? ? [] : failed.select { |fate| fate.kind == :stuck }
        (resolved? ? left_out + failed : failed).each { |fate| decide(fate) }
      end

      # @return [Boolean] whether stuck rows are parked: others were sent, or need their turn
      def resolved? = @resolved

      # @return [Boolean] whether there is anything to write
      def any? = [done, parked, aside, held, released].any?(&:any?)

      # @return [Array<Report>] one for all rows of a topic that failed with the same error
      def reports
        @reports.group_by { |one| [one.event, one.topic, one.error.class, one.error.message] }.map do |(event, topic), list|
          Report.new(event, topic, list.flat_map(&:rows), list.first.error, list.map(&:attempt).max,
            list.map(&:retry_in_ms).compact.max)
        end
      end

      private

      def decide(fate)
        case fate.kind
        when :stuck then park(fate, STUCK_MS, fate.failed["attempts"]) if resolved?
        when :closed then park(fate, @closed.remaining_ms(fate.failed["topic"]), fate.failed["attempts"])
        else refused(fate, fate.failed["attempts"] + 1)
        end
      end

      # A missing topic isn't the row's fault: the row is never set aside for that.
      def refused(fate, attempts)
        aside = @settings.on_refusal == "set_aside" && attempts >= @settings.max_attempts && fate.kind == :record
        aside ? set_aside(fate, attempts) : park(fate, @settings.backoff_ms(attempts), attempts)
      end

      def park(fate, delay_ms, attempts)
        id = fate.failed["id"]
        @parked[id] = {attempts: attempts, due_ms: @now_ms + delay_ms, last_error: text(fate.error)}
        (@held[id] ||= []).concat(fate.rest) if fate.rest.any?
        add_report("outbox.parked", fate, attempts, delay_ms)
      end

      def set_aside(fate, attempts)
        id = fate.failed["id"]
        @aside[id] = {attempts: attempts, last_error: text(fate.error)}
        @released << id if fate.chain.parked
        add_report("outbox.set_aside", fate, attempts, nil)
      end

      def add_report(event, fate, attempts, delay_ms)
        @reports << Report.new(event, fate.failed["topic"], [fate.failed["id"]], fate.error, attempts, delay_ms)
      end

      def text(error) = Printable.line(Printable.error(error), ERROR_SIZE)
    end
  end
end
