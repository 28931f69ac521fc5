# frozen_string_literal: true

require_relative "redelivery"

module Penstock
  module Processing
    # Redelivers records after an error, where only the user's marks complete records: see {Redelivery} and
    # docs/internals/redelivery.md. Part of {Lane}; on its poll loop.
    module Redelivering
      # Holds that don't prevent a lane from going back: while a breaker holds it, it needs a record to probe with.
      NO_OBSTACLE = %i[redelivery breaker].freeze
      private_constant :NO_OBSTACLE

      # @return [Redelivery]
      attr_reader :redelivery

      # @return [Integer, nil] where the next take must begin
      def next_take = @redelivery.position || @ledger.tail

      # Sets the source's cursor to where the next take must begin: after repeats were dropped, or the end moved the tail.
      def align
        @source.cursor = next_take if @source && @ledger.known?
      end

      # Admits records to units, after all earlier ones.
      # @param messages [Messages]
      # @param keys [Array<Object>, nil]
      def let_in(messages, keys = nil) = @division.push(in_present_cell(messages), keys, self)

      # A call of its consumer has failed: everything that was handed out and isn't complete is redelivered, as new messages;
      # marks of the old ones don't count any more.
      # @param messages [Messages] of the failed call, which run again
      # @param unit [Unit, nil] that failed; nil: a call without records failed
      # @return [Array<Integer>] offsets of other records that are redelivered at once; empty if records are read again
      def redeliver(messages, unit)
        return @division.come_again(unit, self) if by_key?
        lost = handed_out_before?(messages)
        renew_marks
        @division.requeue(nil, messages)
        @division.rejoin(@marks)
        @holds.add(:redelivery) if lost
        []
      end

      # @return [Boolean] whether an error of a call without records would redeliver any records that aren't about to be
      #   anyway
      def unmarked_handed_out?
        return @division.any_unmarked?(self) if by_key?
        !@holds.include?(:redelivery) && handed_out_before?(nil)
      end

      # @return [Boolean] whether the lane must go back now
      def redelivery_due?
        @holds.include?(:redelivery) && (@holds.reasons - NO_OBSTACLE).empty? && idle? && !@leaving && owned? && !in_transaction?
      end

      # Goes back: buffered records are read again, together with those handed out before them. Records that wait for admission
      # stay.
      # @return [Integer, nil] offset at which the source must continue; nil when everything has been marked meanwhile
      def begin_redelivery
        @holds.release(:redelivery)
        return unless handed_out_before?(nil)
        from = @redelivery.first_wanted(@ledger)
        @redelivery.begin(from, @intake.first_offset || @ledger.tail)
        @intake.blocked = true
        @division.discard
        @previous_from = from
        @may_repeat = false
        @end = nil
        from
      end

      # Admits the wanted records of a take that begins below the tail, bypassing filters and partitioner, which have seen them
      # once.
      # @param messages [Messages]
      # @return [Messages] those that haven't been admitted before
      def take_again(messages)
        fresh = messages.from_offset(@ledger.tail)
        known = messages.size - fresh.size
        wanted = (0...known).select do |index|
          offset = messages.offset_at(index)
          @redelivery.wanted?(offset) && !@ledger.complete?(offset)
        end
        @division.again(messages.pick(wanted)) unless wanted.empty?
        drop(gone(messages))
        fresh
      end

      # Records that were to be redelivered below the offset aren't in the log any more.
      # @param offset [Integer]
      def gone_until(offset)
        offset = [offset, @ledger.tail].min
        drop(@ledger.incomplete_between(@redelivery.position, [offset, @redelivery.through].min))
        took_to(offset)
        @previous_from = offset
      end

      # A take was admitted.
      # @param to [Integer] its end
      def took_to(to)
        return unless @redelivery.reading?
        @redelivery.took(to, @ledger.tail)
        @intake.blocked = @redelivery.behind?
      end

      # The record was dead-lettered, moved to a retry topic or skipped: it isn't redelivered, whether it is complete or not.
      # @param offset [Integer]
      def give_up(offset) = @redelivery.give_up(offset, @ledger.base || 0)

      # The outcome of a unit was settled.
      # @param unit [Unit]
      def settled(unit)
        @division.settled(unit.key, self) if by_key? && unit.consume? && topic.manual_offset_management?
      end

      private

      # Records admitted before an error, or waiting for admission then, are marked in the same cell as redelivered ones.
      def in_present_cell(messages)
        return messages if !topic.manual_offset_management? || by_key? || messages.marked_in?(@marks)
        messages.again(@marks)
      end

      # Closing the cell and reading it are one step: marks for which it returned true count.
      def renew_marks
        fresh = @marks.renew
        @recording&.marks
        take_marks
        @marks = fresh
      end

      # Records that are no longer in the log (retention, compaction) are never redelivered.
      def gone(messages)
        from, to = @redelivery.position, [messages.last_offset + 1, @redelivery.through].min
        return [] if messages.offset_at(0) == from && messages.last_offset - from + 1 == messages.size
        @ledger.incomplete_between(from, to) - messages.offsets
      end

      def handed_out_before?(messages)
        lowest = @redelivery.first_wanted(@ledger) if @ledger.known?
        return false unless lowest
        lowest < ((messages.first_offset unless messages.nil? || messages.empty?) || next_to_hand_out)
      end

      def next_to_hand_out
        at_hand = @division.first_offset
        return at_hand if at_hand
        return @redelivery.position if @redelivery.behind?
        @intake.first_offset || @ledger.tail
      end
    end
  end
end
