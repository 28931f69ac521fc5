# frozen_string_literal: true

module Penstock
  module Runtime
    # Keeps what the poll loop needs to serve an assigned lane, and what the lane itself doesn't use: the driver's queue from
    # which its records come, its slots in the run queue, and the member that it was assigned to.
    #
    # One per lane (`lane.assignment`), created with it and, like it, in use until the last of its units has ended. On the poll
    # loop's thread.
    class LaneAssignment
      # @return [Object] the driver's lane, from which records are taken
      attr_reader :source

      # @return [Execution::RunQueue::Slot] of its units
      attr_reader :slot

      # @return [Execution::RunQueue::Slot, nil] of units that pass records to filters and partitioner; nil if it has neither
      attr_reader :prepare_slot

      # @return [String, nil] member id of its group when the lane was assigned
      attr_accessor :member_id

      # @param source [Object]
      # @param slot [Execution::RunQueue::Slot]
      # @param prepare_slot [Execution::RunQueue::Slot, nil]
      # @param member_id [String, nil]
      def initialize(source, slot, prepare_slot: nil, member_id: nil)
        @source = source
        @slot = slot
        @prepare_slot = prepare_slot
        @member_id = member_id
      end

      # @return [BaseConsumer, nil] the `caller` of the lane's events; where keys run in parallel, one of its instances. None
      #   before the first call, and none where units run in processes
      def consumer = @slot.pool.used.first&.consumer
    end
  end
end
