# frozen_string_literal: true

module Penstock
  class Consumer
    # Requests of user code about its partition's flow, made while it ran: seek, pause, or run one by one. Values, so that an
    # outcome can carry them to the poll loop.
    module Flow
      # Pause the partition. `offset` is where it continues (nil: at its position), `timeout_ms` nil: until `resume`.
      Pause = Struct.new(:offset, :timeout_ms)

      # Continue at `target`: an offset, :earliest or :latest.
      Seek = Struct.new(:target) do
        # @param offset [Integer]
        # @return [Boolean] whether a mark of that record is lost when the seek takes effect
        def drops?(offset) = target == :earliest || (target.is_a?(Integer) && offset >= target)
      end

      # The `message` of the event of a seek: `offset` is the requested one, or :earliest or :latest.
      Position = Struct.new(:topic, :partition, :offset)

      # Run records up to and including the one at `through` one by one, in the partition's order.
      Collapse = Struct.new(:through)

      # The call ended early (`adaptive_iterator`): only records that were marked are complete.
      MarkedOnly = Struct.new(:nothing)

      # End the user's pause.
      Resume = Struct.new(:nothing)
    end
  end
end
