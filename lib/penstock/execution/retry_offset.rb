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

        first = unit.messages.first_offset
        first = base if base && base < first && lane.topic.manual_offset_management? && !cell_of(unit).is_a?(Consumer::UnitMarks)
        [first, unmarked(unit)].max
      end

      # Determines the record that a failure counts for where the records of a unit are retried together (`isolate false`): the
      # one that the poll loop finds with {Processing::Failure::Policy#blamed}.
      # @param unit [Processing::Unit] that failed
      # @return [Integer, nil] the first record of the unit that isn't complete; nil if all are
      def self.within(unit)
        rest = (unit.lane.ledger ? unit.incomplete : unit.messages).from_offset(unmarked(unit))
        rest.first_offset unless rest.empty?
      end

      # @return [Integer] offset below which the unit's records are marked
      def self.unmarked(unit)
        cell = cell_of(unit)
        cell.is_a?(Consumer::UnitMarks) ? cell.through + 1 : cell.through
      end

      def self.cell_of(unit) = unit.messages[0]&.mark_cell || unit.lane.marks
      private_class_method :unmarked, :cell_of
    end
  end
end
