# frozen_string_literal: true

require_relative "../consumer/claim"

module Penstock
  module Processing
    # Applies the marks that were made in a transaction to a lane, or to a copy of its ledger. On the lane's poll loop.
    #
    # Such a mark is a pair: the cell in which a mark outside a transaction would be written, or the one record that it covers;
    # and the offset.
    class TransactionMarks
      # @param lane [Lane]
      # @param marks [Array<Array(Object, Integer)>]
      def initialize(lane, marks)
        exact, @marks = marks.partition { |cell, _offset| cell.is_a?(Consumer::Claim::Exact) }
        @records = exact.map { |cell, _offset| cell.record }
        @lane = lane
        @division = lane.division
      end

      # @return [Ledger] a copy to which the marks were applied
      def ledger
        ledger = @lane.ledger.dup
        ledger.complete_many(@records.map(&:offset))
        return ledger if @marks.empty?
        @lane.by_key? ? ledger.complete_many(marked_offsets) : ledger.complete_through(watermark)
        ledger
      end

      # Their transaction is committed with this offset.
      # @param offset [Integer]
      # @param version [Integer, nil] of the ledger when the transaction's offset was determined; nil if it was sent without its
      #   map
      def commit(offset, version)
        ledger = @lane.ledger
        same = ledger.version == version
        @lane.complete(@records)
        count unless @marks.empty?
        @lane.commit_state.committed(offset, same ? ledger.version : version)
      end

      private

      # For a whole partition a mark is a watermark; by key it covers its record and those before it in its unit.
      def count = @lane.by_key? ? complete_offsets(marked_offsets) : @lane.complete_through(watermark)

      def watermark = @marks.map(&:last).max + 1

      def marked_offsets
        @marks.flat_map { |cell, offset| before(cell, offset) }.uniq.sort
      end

      def before(cell, offset)
        unit = unit_of(cell) or return [offset]
        unit.messages.offsets.select { |each| each <= offset }
      end

      def unit_of(cell)
        return unless cell
        each_unit { |unit| return unit if cell.equal?(unit.marks) }
        nil
      end

      def each_unit(&) = @division.each_mark(@lane.ledger.base || 0, &)

      def complete_offsets(offsets)
        units = []
        each_unit { |unit| units << unit if unit.messages.offsets.intersect?(offsets) }
        wanted = offsets.to_h { |offset| [offset, true] }
        units.each { |unit| @lane.complete(unit.messages.to_a.select { |message| wanted.delete(message.offset) }) }
        @lane.drop(wanted.keys)
        units.each { |unit| @division.done(unit) if unit.messages.offsets.all? { |offset| @lane.ledger.complete?(offset) } }
      end
    end
  end
end
