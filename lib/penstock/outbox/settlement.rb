# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module Outbox
    # What has to be written at the end of a turn. Pure: made of what became of the chains.
    class Settlement
      # A row whose partition is out while others go on is tried again after so many ms.
      STUCK_MS = 5_000
      # The text of an error may be as long as a record.
      ERROR_SIZE = 500

      # What is told of rows of a topic that failed alike.
      Told = Struct.new(:event, :topic, :rows, :error, :attempt, :retry_in_ms)

      # @return [Array<Integer>] rows that Kafka has
      attr_reader :done
      # @return [Hash{Integer => Hash}] row => columns
      attr_reader :parked
      # @return [Hash{Integer => Hash}] row => columns
      attr_reader :aside
      # @return [Hash{Integer => Array<Integer>}] parked row => rows that wait behind it
      attr_reader :held
      # @return [Array<Integer>] rows behind which none has to wait any more
      attr_reader :released
      # @return [Array<Dispatch::Fate>] what couldn't be sent, where nothing was: the cluster may be out
      attr_reader :stuck

      # @param fates [Array<Dispatch::Fate>]
      # @param blocked [Hash{Integer => Array<Integer>}] as {Plan#blocked}
      # @param settings [Settings]
      # @param closed [ClosedTopics]
      # @param now_ms [Integer] wall clock
      # @param left_out [Array<Dispatch::Fate>] what turns before this one found stuck, and this one hasn't sent
      # @param full [Boolean] whether no more can be left out, so that it is parked in any case
      def initialize(fates, blocked, settings:, closed:, now_ms:, left_out: [], full: false)
        @settings = settings
        @closed = closed
        @now_ms = now_ms
        @parked = {}
        @aside = {}
        @held = blocked.to_h { |blocker, ids| [blocker, ids.dup] }
        @told = []
        @done = fates.flat_map(&:done)
        @released = fates.select { |fate| fate.chain.parked && fate.done.any? }.map { |fate| fate.chain.ids.first }
        failed = fates.select(&:failed)
        @resolved = full || @done.any?
        @stuck = resolved? ? [] : failed.select { |fate| fate.kind == :stuck }
        (resolved? ? left_out + failed : failed).each { |fate| decide(fate) }
      end

      # @return [Boolean] whether what is stuck is parked: others go on, or have to have their turn
      def resolved? = @resolved

      # @return [Boolean] whether anything changes
      def any? = [done, parked, aside, held, released].any?(&:any?)

      # @return [Array<Told>] one for rows of a topic that failed alike
      def told
        @told.group_by { |one| [one.event, one.topic, one.error.class, one.error.message] }.map do |(event, topic), list|
          Told.new(event, topic, list.flat_map(&:rows), list.first.error, list.map(&:attempt).max,
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

      # A missing topic isn't the row's fault: it is never set aside for that.
      def refused(fate, attempts)
        aside = @settings.on_refusal == "set_aside" && attempts >= @settings.max_attempts && fate.kind == :record
        aside ? set_aside(fate, attempts) : park(fate, @settings.backoff_ms(attempts), attempts)
      end

      def park(fate, delay_ms, attempts)
        id = fate.failed["id"]
        @parked[id] = {attempts: attempts, due_ms: @now_ms + delay_ms, last_error: text(fate.error)}
        (@held[id] ||= []).concat(fate.rest) if fate.rest.any?
        tell("outbox.parked", fate, attempts, delay_ms)
      end

      def set_aside(fate, attempts)
        id = fate.failed["id"]
        @aside[id] = {attempts: attempts, last_error: text(fate.error)}
        @released << id if fate.chain.parked
        tell("outbox.set_aside", fate, attempts, nil)
      end

      def tell(event, fate, attempts, delay_ms)
        @told << Told.new(event, fate.failed["topic"], [fate.failed["id"]], fate.error, attempts, delay_ms)
      end

      def text(error) = Printable.line(Printable.error(error), ERROR_SIZE)
    end
  end
end
