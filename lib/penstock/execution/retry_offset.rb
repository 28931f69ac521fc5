# frozen_string_literal: true

require_relative "../consumer/unit_marks"

module Penstock
  module Execution
    # Determines from which offset on records are tried again after an error of user code: `seek_offset` of `error.occurred`.
    # Runs on the worker, so it may miss a mark that another thread makes at the same time. Stateless.
    module RetryOffset
      # @param unit [Processing::Unit] that failed
      # @return [Integer, nil] the first record that isn't complete: of its call; with manual offsets also of earlier calls. For
      #   a hook that of its partition, nil where it isn't known
      def self.of(unit)
        lane = unit.lane
        base = lane.ledger&.base
        return base unless unit.consume?

        cell = unit.messages[0]&.mark_cell || lane.marks
        return [unit.messages.first_offset, cell.through + 1].max if cell.is_a?(Consumer::UnitMarks)

        first = unit.messages.first_offset
        first = base if base && base < first && lane.topic.manual_offset_management?
        [first, cell.through].max
      end
    end
  end
end
