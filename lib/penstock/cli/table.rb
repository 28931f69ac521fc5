# frozen_string_literal: true

require_relative "../printable"

module Penstock
  module CLI
    # Formats rows under a heading; columns are as wide as needed, numbers are right-aligned. A cell is always one line.
    class Table
      CELL_BYTES = 500
      private_constant :CELL_BYTES

      # @param heading [Array<String>]
      # @param rows [Array<Array>] `nil` shows as a dash
      def initialize(heading, rows)
        @heading = heading
        @rows = rows
      end

      def to_s
        texts = @rows.map { |row| row.map { |cell| cell.nil? ? "-" : Printable.line(cell, CELL_BYTES) } }
        widths = [@heading, *texts].transpose.map { |column| column.map(&:size).max }
        right = numeric_columns
        [@heading, *texts].map { |row| line(row, widths, right) }.join("\n")
      end

      private

      def numeric_columns
        @heading.each_index.map { |index| @rows.any? && @rows.all? { |row| row[index].nil? || row[index].is_a?(Numeric) } }
      end

      def line(row, widths, right)
        cells = row.each_with_index.map { |cell, index| right[index] ? cell.rjust(widths[index]) : cell.ljust(widths[index]) }
        cells.join("  ").rstrip
      end
    end
  end
end
