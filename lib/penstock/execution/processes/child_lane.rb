# frozen_string_literal: true

require_relative "../../consumer/marks"

module Penstock
  module Execution
    module Processes
      # Marks inside a child: written where the application sees them at once, also if this process dies before it reports them.
      class ChildMarks < Consumer::Marks
        # @param unit [Integer] the number of the unit whose records are marked
        # @param shared_status [SharedStatus]
        # @param send_metadata [#call] sends metadata to the application, with the offset of its mark if there is one
        def initialize(unit, shared_status, send_metadata)
          super()
          @unit = unit
          @shared_status = shared_status
          @send_metadata = send_metadata
        end

        def mark(offset, metadata = nil)
          return false unless super
          @shared_status.marked(@unit, through)
          @send_metadata.call(metadata, offset) if metadata
          true
        end

        def store_metadata(metadata)
          super.tap { @send_metadata.call(metadata) }
        end
      end

      # A partition inside a child, for the length of one unit; `unit` is that unit's number.
      ChildLane = Struct.new(:topic, :topic_name, :partition, :marks, :adopted_metadata, :unit) do
        def key = [topic_name, partition]
        def breaker = nil
        # Only the application knows what is complete.
        def ledger = nil
      end

      # Implements the part of a slot that a unit runner uses: one consumer, created for the unit.
      ChildSlot = Struct.new(:context) do
        def pool = self
        def take(_unit) = context
        def give_back(_context) = nil
        def every = [context]
        def used = []
      end
    end
  end
end
