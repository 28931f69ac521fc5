# frozen_string_literal: true

module Penstock
  module Processing
    module Recording
      # Keeps the last events of one lane: a row of fixed slots in one flat array, overwritten from the start when it is full.
      # Takes numbers and symbols; nothing is copied or allocated except the array itself while it grows to its full size.
      #
      # Written by the poll loop alone. Any thread may read: the array is copied in one step, and entries that the loop may have
      # been writing meanwhile are left out.
      class Ring
        ENTRIES = 256
        # Kind, monotonic ms, and seven values.
        WIDTH = 9

        # @return [Integer] entries written so far, including overwritten ones
        attr_reader :count

        # @param entries [Integer] how many are kept
        def initialize(entries = ENTRIES)
          @entries = entries
          @limit = entries * WIDTH
          @slots = []
          @at = 0
          @count = 0
        end

        # @param kind [Symbol]
        # @param now [Integer] monotonic ms
        # rubocop:disable Metrics/ParameterLists -- a splat would make an array of each entry
        def write(kind, now, one = nil, two = nil, three = nil, four = nil, five = nil, six = nil, seven = nil)
          slots = @slots
          at = @at
          slots[at] = kind
          slots[at + 1] = now
          slots[at + 2] = one
          slots[at + 3] = two
          slots[at + 4] = three
          slots[at + 5] = four
          slots[at + 6] = five
          slots[at + 7] = six
          slots[at + 8] = seven
          at += WIDTH
          @at = (at == @limit) ? 0 : at
          @count += 1
        end
        # rubocop:enable Metrics/ParameterLists

        # @return [Array<Array>] kind, time and values of each entry, the oldest first; without trailing nils
        def to_a
          before = @count
          slots = @slots.dup
          first = [@count + 1 - @entries, 0].max # the entry being written overwrites the oldest
          (first...before).map { |number| entry(slots, number) }.compact
        end

        private

        def entry(slots, number)
          entry = slots[(number % @entries) * WIDTH, WIDTH]
          entry.pop while entry.last.nil? && !entry.empty?
          entry unless entry.empty?
        end
      end
    end
  end
end
