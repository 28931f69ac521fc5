# frozen_string_literal: true

require_relative "../../consumer/marks"

module Penstock
  module Execution
    module Processes
      # Marks inside a child: written where the application sees them at once, also when this process doesn't live to tell.
      class ChildMarks < Consumer::Marks
        # @param shared_status [SharedStatus]
        # @param tell [#call] takes metadata to the application
        def initialize(shared_status, tell)
          super()
          @shared_status = shared_status
          @tell = tell
        end

        def mark(offset, metadata = nil)
          return false unless super
          @shared_status.marked(through)
          @tell.call(metadata) if metadata
          true
        end

        def store_metadata(metadata)
          super.tap { @tell.call(metadata) }
        end
      end

      # A partition as a child knows it, for the length of one unit; `unit` is that one's number.
      ChildLane = Struct.new(:topic, :topic_name, :partition, :marks, :adopted_metadata, :unit) do
        def key = [topic_name, partition]
        def breaker = nil
      end

      # What a unit runner needs to know about the place of a unit: one consumer, made for it.
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
