# frozen_string_literal: true

module Penstock
  module Processing
    # Redelivers records after an error, where only the user's marks complete records: a consumer may hold records of earlier
    # calls and lose them with an error, so everything that was handed out and isn't marked is redelivered. It keeps the offset
    # from which records are read again, and those that were dead-lettered, moved or skipped and must not be redelivered. See
    # docs/internals/redelivery.md.
    #
    # One per lane, owned by it, on its poll loop; a new incarnation clears it. States: none; due: the lane has the hold
    # `:redelivery`; reading, from {#begin} until the source has passed the end of what was admitted. Where keys run in parallel
    # the records are still in memory, and the division brings them back ({Division::KeyRedelivery}).
    class Redelivery
      # Holds during which a lane may read records again: while a breaker holds it, it needs a record to probe with.
      COMPATIBLE_HOLDS = %i[redelivery breaker].freeze
      private_constant :COMPATIBLE_HOLDS

      # @return [Integer, nil] where the next take must begin; nil unless records are being read again
      attr_reader :position

      # @param lane [Lane]
      def initialize(lane)
        @lane = lane
        @ledger = lane.ledger
        @division = lane.division
        @intake = lane.intake
        @holds = lane.holds
        @given_up = {}
        @position = @through = @failed_at = nil
        @failures = 0
      end

      # @return [Boolean] whether takes below the ledger's tail are redelivered records
      def reading? = !@position.nil?

      # A call of the lane's consumer has failed: everything that was handed out and isn't complete is redelivered, as new
      # messages; marks of the old ones don't count any more.
      # @param messages [Messages] of the failed call, which run again
      # @param unit [Unit, nil] that failed; nil: a call without records failed
      # @return [Array<Integer>] offsets of other records that are redelivered at once; empty if records are read again
      def request(messages, unit)
        return redeliver_from_memory(unit) if @division.by_key?
        lost = handed_out_before?(messages)
        @lane.renew_marks
        @division.requeue(nil, messages)
        @division.use_cell(@lane.marks)
        @holds.add(:redelivery) if lost
        []
      end

      # @return [Boolean] whether an error of a call without records would redeliver anything that isn't due for redelivery
      #   already
      def anything_to_request?
        return @division.any_unmarked?(@lane) if @division.by_key?
        !@holds.include?(:redelivery) && handed_out_before?(nil)
      end

      # @return [Boolean] whether the redelivery must begin now
      def due?
        @holds.include?(:redelivery) && (@holds.reasons - COMPATIBLE_HOLDS).empty? && @lane.idle? && !@lane.leaving? &&
          @lane.owned? && !@lane.offset_slot.taken?
      end

      # Begins the redelivery: buffered records are read again, together with those handed out before them. Records that wait for
      # admission stay.
      # @return [Integer, nil] offset at which the source must continue; nil when everything has been marked meanwhile
      def begin
        @holds.release(:redelivery)
        return unless handed_out_before?(nil)
        @position = first_wanted
        @through = @intake.first_offset || @ledger.tail
        @intake.blocked = true
        @division.discard
        set_apart { |offset| offset >= @position && wanted?(offset) }
        @lane.takes.read_from(@position)
        @position
      end

      # Redelivered records that failed before run alone: in the middle of a unit the worker wouldn't know their attempts, and
      # their letters would be made one attempt too late.
      # @param key [Object, nil] of the records, where keys run in parallel
      # @yieldparam offset [Integer] of a record that failed
      # @yieldreturn [Boolean] whether it is redelivered
      def set_apart(key = nil, &)
        return unless @lane.attempts.any? && @lane.topic.features.fetch(:isolate, true)
        failed = @lane.attempts.offsets.select(&)
        @division.isolate(key, failed.max, failed.min) unless failed.empty?
      end

      # Admits the wanted records of a take that begins below the tail, bypassing filters and partitioner, which have seen them
      # once.
      # @param messages [Messages]
      # @return [Messages] those that haven't been admitted before
      def admit(messages)
        fresh = messages.from_offset(@ledger.tail)
        known = messages.size - fresh.size
        wanted = (0...known).select { |index| wanted?(messages.offset_at(index)) }
        @division.push_redelivered(messages.pick(wanted)) unless wanted.empty?
        @lane.drop(deleted(messages))
        fresh
      end

      # A take was admitted.
      # @param to [Integer] its end
      def record_take(to)
        return unless @position
        @position = (to if to < @ledger.tail)
        @intake.blocked = pending?
      end

      # Records that were to be redelivered below the offset aren't in the log any more.
      # @param offset [Integer]
      def drop_below(offset)
        offset = [offset, @ledger.tail].min
        @lane.drop(@ledger.incomplete_between(@position, [offset, @through].min))
        record_take(offset)
        @lane.takes.last_start = offset
      end

      # The record was dead-lettered, moved to a retry topic or skipped: it isn't redelivered, whether it is complete or not.
      # @param offset [Integer]
      def give_up(offset)
        base = @ledger.base || 0
        @given_up.delete_if { |known, _| known < base }
        @given_up[offset] = true
      end

      # @return [Boolean] whether the record was dead-lettered, moved or skipped
      def given_up?(offset) = @given_up.key?(offset)

      # The outcome of a unit was settled.
      # @param unit [Unit]
      def settled(unit)
        return unless @division.by_key? && unit.consume? && @lane.topic.manual_offset_management?
        @division.settled(unit.key, @lane)
      end

      # Counts a call without records (`tick`, `eofed`) that failed and caused a redelivery. As with a record's attempts, the
      # count ends when the lowest incomplete record is complete.
      # @return [Integer] such failures, this one included
      def count_failure
        @failures = (@ledger.base == @failed_at) ? @failures + 1 : 1
        @failed_at = @ledger.base
        @failures
      end

      # Forgets everything.
      def clear
        @given_up.clear
        @position = @through = @failed_at = nil
        @holds.release(:redelivery)
      end

      private

      # The source doesn't read these records again, so it doesn't reach the end again either.
      def redeliver_from_memory(unit)
        @lane.takes.repeat_end
        @division.redeliver(unit, @lane)
      end

      # @return [Boolean] whether some redelivered records haven't arrived yet, so that the records waiting after them must not be
      #   admitted
      def pending? = !@position.nil? && @position < @through

      # @param offset [Integer] below the ledger's tail
      def wanted?(offset) = offset < @through && !@given_up.key?(offset) && !@ledger.complete?(offset)

      # @return [Integer, nil] the lowest incomplete offset of a record that may be redelivered
      def first_wanted = @ledger.incomplete_offsets(@given_up.size + 1).find { |offset| !@given_up.key?(offset) }

      # Records that are no longer in the log (retention, compaction) are never redelivered.
      def deleted(messages)
        from, to = @position, [messages.last_offset + 1, @through].min
        return [] if messages.offset_at(0) == from && messages.last_offset - from + 1 == messages.size
        @ledger.incomplete_between(from, to) - messages.offsets
      end

      def handed_out_before?(messages)
        lowest = first_wanted if @ledger.known?
        return false unless lowest
        lowest < ((messages.first_offset unless messages.nil? || messages.empty?) || next_to_hand_out)
      end

      def next_to_hand_out
        buffered = @division.first_offset
        return buffered if buffered
        return @position if pending?
        @intake.first_offset || @ledger.tail
      end
    end
  end
end
