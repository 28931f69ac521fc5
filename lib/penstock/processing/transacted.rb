# frozen_string_literal: true

require_relative "../consumer/claim"
require_relative "offset_slot"

module Penstock
  module Processing
    # Applies transactions of user code to a lane: its offset slot, and the marks made in a transaction. Also reopens the lane
    # and moves it where its user didn't seek. Part of {Lane}.
    #
    # Such a mark is a pair: the cell in which a mark outside a transaction would be written, or the one record that it covers;
    # and the offset.
    module Transacted
      # @return [String, nil] member id of its group when the lane was assigned
      attr_accessor :member_id

      # Whether its offset may be wrong, so that the group's committed offset must be read: see {Runtime::LaneReset}.
      # @return [Boolean]
      attr_writer :doubtful

      def doubtful? = @doubtful || false

      # @return [Boolean] whether nothing may be committed for it now: a transaction commits its offset, or the right offset is
      #   unknown
      def undecided? = in_transaction? || doubtful?

      # @return [OffsetSlot]
      def offset_slot = @offset_slot ||= OffsetSlot.new

      # @return [Boolean] whether a transaction commits its offset
      def in_transaction? = @offset_slot ? @offset_slot.taken? : false

      # @param cell [Object]
      # @return [Boolean] whether a transaction that was granted the slot has marks in that cell
      def carries?(cell) = in_transaction? && @offset_slot.holder.marks.any? { |each, _offset| each.equal?(cell) }

      # @return [Unit, nil] that has ended, but whose outcome waits for the end of its transaction
      def put_off_unit = @offset_slot&.holder&.outcome&.unit

      # @param marks [Array<Array(Object, Integer)>]
      # @return [Ledger] a copy to which these marks were applied
      def ledger_with(marks)
        exact, marks = exact_and_other(marks)
        ledger = @ledger.dup
        ledger.complete_many(exact.map(&:offset))
        return ledger if marks.empty?
        by_key? ? ledger.complete_many(marked_offsets(marks)) : ledger.complete_through(marks.map(&:last).max + 1)
        ledger
      end

      # Applies these marks: their transaction is committed with this offset.
      # @param marks [Array<Array(Object, Integer)>]
      # @param offset [Integer]
      # @param version [Integer, nil] of the ledger when the transaction's offset was determined; nil if it was sent without its
      #   map
      def commit_marks(marks, offset, version)
        same = @ledger.version == version
        exact, marks = exact_and_other(marks)
        complete(exact)
        count(marks) unless marks.empty?
        committed!(offset, same ? @ledger.version : version)
      end

      # Begins a new incarnation at the group's committed offset. The source may still repeat records from the start of the last
      # take: for the source, the application is at that position until something was taken again.
      # @param offset [Integer]
      # @yieldreturn [Array<Array(Integer, Integer)>] complete runs beyond it; called when the previous incarnation has ended
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

      # Continues at a filter's offset. The state of records from there on is kept, also a former owner's: they were not
      # admitted, so no consumer expects them again. Only a seek backwards resets it. With manual offsets only that case gets
      # here, because buffered records stay buffered ({Settlement::Prepared}).
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

      # Keeps the suspects: a filter that seeks in each assignment mustn't protect a later record that kills the process.
      def still_suspected
        suspects, @suspects = @suspects, nil
        yield
      ensure
        @suspects = suspects
      end

      # @return [Array(Array<Message>, Array)] records marked on their own, regardless of the records before them; the other
      #   marks
      def exact_and_other(marks)
        exact, others = marks.partition { |cell, _offset| cell.is_a?(Consumer::Claim::Exact) }
        [exact.map { |cell, _offset| cell.record }, others]
      end

      # For a whole partition a mark is a watermark; by key it covers its record and those before it in its unit.
      def count(marks)
        by_key? ? complete_offsets(marked_offsets(marks)) : complete_through(marks.map(&:last).max + 1)
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
