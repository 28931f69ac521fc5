# frozen_string_literal: true

module Penstock
  module Processing
    module Recording
      # Encodes offsets as rows of a recording: the first offset, and bits for the following ones. Stateless.
      module Offsets
        # Small enough for Integers that need no heap memory.
        BITS = 60
        WORDS = 6
        private_constant :BITS, :WORDS

        class << self
          # @param offsets [Enumerable<Integer>] ascending
          # @return [Array<Array<Integer>>] rows of at most seven values
          def rows(offsets)
            offsets.each_with_object([]) do |offset, rows|
              place = rows.empty? ? -1 : offset - rows.last.first
              rows << [offset] unless place.between?(0, (BITS * WORDS) - 1)
              put(rows.last, offset)
            end
          end

          # @param row [Array<Integer>]
          # @return [Array<Integer>] offsets
          def of(row)
            first, *words = row
            words.each_with_index.flat_map do |word, index|
              (0...BITS).select { |bit| word[bit] == 1 }.map { |bit| first + (index * BITS) + bit }
            end
          end

          private

          def put(row, offset)
            word, bit = (offset - row.first).divmod(BITS)
            row << 0 while row.size < word + 2
            row[word + 1] |= 1 << bit
          end
        end
      end
    end
  end
end
