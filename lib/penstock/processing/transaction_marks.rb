# frozen_string_literal: true

require_relative "../consumer/claim"
require_relative "../consumer/unit_marks"

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
      def count = @lane.by_key? ? complete_records : @lane.complete_through(watermark)

      def watermark = @marks.map(&:last).max + 1

      def marked_offsets = [*marked_records.map(&:offset), *bare_offsets].uniq.sort

      # The cell knows its records also when their unit has ended, or when they wait to run again.
      def marked_records
        @marks.flat_map { |cell, offset| unit?(cell) ? cell.messages.to_a.select { |message| message.offset <= offset } : [] }
      end

      # Marks that weren't made in the cell of a unit.
      def bare_offsets = @marks.filter_map { |cell, offset| offset unless unit?(cell) }

      def unit?(cell) = cell.is_a?(Consumer::UnitMarks) && !cell.messages.nil?

      def complete_records
        units, offsets = [], marked_offsets
        @division.each_mark(@lane.ledger.base || 0) { |unit| units << unit if unit.messages.offsets.intersect?(offsets) }
        @lane.complete(marked_records)
        @lane.drop(bare_offsets)
        units.each { |unit| @division.done(unit) if unit.messages.offsets.all? { |offset| @lane.ledger.complete?(offset) } }
      end
    end
  end
end
