# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # A part of a take in which offsets ascend. When the log went backwards, or was fetched again, one take contains both the
      # records queued before and those that came after: offsets step back in the middle of it, and each part is admitted
      # separately. A frozen view; created where it is needed, for one call.
      class Part
        class << self
          # @param batch [#size, #offset, #to]
          # @return [Boolean] whether offsets step back somewhere; for a take without gaps this needs three comparisons
          def steps_back?(batch)
            return false if batch.is_a?(Part)
            span = batch.to - batch.offset(0)
            return false if span == batch.size && batch.offset(batch.size - 1) + 1 == batch.to && dense?(batch)
            (1...batch.size).any? { |index| batch.offset(index) <= batch.offset(index - 1) }
          end

          # @return [Boolean] whether another part of the same take follows
          def more?(batch) = batch.is_a?(Part) && batch.first_index + batch.size < batch.whole.size

          # @return [Array<Part>]
          def of(batch)
            starts = [0, *(1...batch.size).select { |index| batch.offset(index) <= batch.offset(index - 1) }, batch.size]
            starts.each_cons(2).map { |from, to| new(batch, from, to - from) }
          end

          private

          # Called when the take has as many offsets as its span is long: with a step back one of them would occur twice, and the
          # middle one would have another offset.
          def dense?(batch)
            middle = batch.size / 2
            batch.offset(middle) == batch.offset(0) + middle
          end
        end

        # @return [Object] the batch it is part of
        attr_reader :whole
        # @return [Integer] index of its first record there
        attr_reader :first_index
        attr_reader :size

        def initialize(whole, first_index, size)
          @whole = whole
          @first_index = first_index
          @size = size
          freeze
        end

        def offset(index) = @whole.offset(@first_index + index)
        def leader_epoch(index) = @whole.leader_epoch(@first_index + index)
        def to = offset(@size - 1) + 1

        # The source's cursor before this part is unknown.
        def from = -1001

        def context=(context)
          @whole.context = context
        end
      end
    end
  end
end
