# frozen_string_literal: true

require_relative "../consumer/claim"
require_relative "offset_slot"

module Penstock
  module Processing
    # A lane's part in transactions of user code: its offset slot, and what marks made in a transaction come to; and how it begins
    # anew where its user didn't seek. Part of {Lane}.
    #
    # Such marks are pairs of the cell in which a mark outside of a transaction would be written, or of the one record that they
    # stand for, and the offset.
    module Transacted
      # @return [String, nil] as which member of its group the lane came
      attr_accessor :member_id

      # Whether what it knows of itself may not be true, so that the group is asked where it stands: see {Runtime::Reopening}.
      # @return [Boolean]
      attr_writer :doubtful

      def doubtful? = @doubtful || false

      # @return [Boolean] whether nothing may be committed for it now: a transaction carries its offset, or nobody knows which is
      #   the right one
      def undecided? = in_transaction? || doubtful?

      # @return [OffsetSlot]
      def offset_slot = @offset_slot ||= OffsetSlot.new

      # @return [Boolean] whether a transaction carries its offset
      def in_transaction? = @offset_slot ? @offset_slot.taken? : false

      # @param cell [Object]
      # @return [Boolean] whether a transaction that was granted the slot has marks in that cell
      def carries?(cell) = in_transaction? && @offset_slot.holder.marks.any? { |each, _offset| each.equal?(cell) }

      # @return [Unit, nil] that ran to its end, but whose outcome waits for the end of its transaction
      def put_off_unit = @offset_slot&.holder&.outcome&.unit

      # @param marks [Array<Array(Object, Integer)>]
      # @return [Ledger] what would be known if they counted
      def ledger_with(marks)
        exact, marks = exact_and_other(marks)
        ledger = @ledger.dup
        ledger.complete_many(exact.map(&:offset))
        return ledger if marks.empty?
        rolling? ? ledger.complete_many(marked_offsets(marks)) : ledger.complete_through(marks.map(&:last).max + 1)
        ledger
      end

      # These marks count: their transaction is committed with this offset.
      # @param marks [Array<Array(Object, Integer)>]
      # @param offset [Integer]
      # @param version [Integer, nil] of the ledger when the transaction's offset was made; nil when it went without its map
      def commit_marks(marks, offset, version)
        same = @ledger.version == version
        exact, marks = exact_and_other(marks)
        complete(exact)
        count(marks) unless marks.empty?
        committed!(offset, same ? @ledger.version : version)
      end

      # Begins anew where the group stands. The source may still repeat from where the last take began: it takes the application
      # for being there until something was taken again.
      # @param offset [Integer]
      # @yieldreturn [Array<Array(Integer, Integer)>] what is complete beyond it; called when the incarnation before is over
      # @return [Array<Array(Integer, Integer)>]
      def reopen(offset)
        before = @previous_from
        reincarnate(offset)
        completed = yield
        adopt(offset, completed)
        @previous_from = before
        may_repeat!
        completed
      end

      # Goes on where a filter says. What is known of the records from there on stays true, be it from a former owner: they were
      # not let in, so nobody asks for them again. Only who goes back does; with manual offsets nobody else gets here, for what is
      # at hand stays there ({Settlement::Prepared}).
      # @param offset [Integer]
      # @param now [Integer] monotonic ms
      def go_on_at(offset, now)
        return reincarnate(offset) if offset < @ledger.base || topic.manual_offset_management?
        completed = @ledger.ranges
        attempts = @attempts.to_h.select { |failed, _count| failed >= offset }
        still_suspected { reincarnate(offset) }
        @ledger.restore(completed)
        retry_adopted(attempts, @adopted_until || now) if attempts.any?
        @recording&.adopted(offset, @ledger.ranges)
      end

      private

      # A filter that goes on elsewhere in each assignment mustn't save the record behind it that kills the process.
      def still_suspected
        suspects, @suspects = @suspects, nil
        yield
      ensure
        @suspects = suspects
      end

      # @return [Array(Array<Message>, Array)] records that are marked alone, whatever lies before them; the other marks
      def exact_and_other(marks)
        exact, others = marks.partition { |cell, _offset| cell.is_a?(Consumer::Claim::Exact) }
        [exact.map { |cell, _offset| cell.record }, others]
      end

      # Whole, a mark is a watermark; by key it stands for its record and what is before it in its unit.
      def count(marks)
        rolling? ? complete_offsets(marked_offsets(marks)) : complete_through(marks.map(&:last).max + 1)
      end

      def marked_offsets(marks)
        marks.flat_map { |cell, offset| before(cell, offset) }.uniq.sort
      end

      def before(cell, offset)
        unit = unit_of(cell) or return [offset]
        unit.messages.offsets.select { |each| each <= offset }
      end

      def unit_of(cell)
        return unless cell
        @division.each_mark(@ledger.base || 0) { |unit| return unit if cell.equal?(unit.marks) }
        nil
      end

      def complete_offsets(offsets)
        units = []
        @division.each_mark(@ledger.base || 0) { |unit| units << unit if unit.messages.offsets.intersect?(offsets) }
        wanted = offsets.to_h { |offset| [offset, true] }
        units.each { |unit| complete(unit.messages.to_a.select { |message| wanted.delete(message.offset) }) }
        drop(wanted.keys)
        units.each { |unit| @division.done(unit) if unit.messages.offsets.all? { |offset| @ledger.complete?(offset) } }
      end
    end
  end
end
