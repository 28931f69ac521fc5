# frozen_string_literal: true

module Penstock
  class Consumer
    # Requests of user code about its partition's flow, made while it ran: seek, pause, or run one by one. Values, so that an
    # outcome can carry them to the poll loop.
    module Flow
      # Pause the partition. `offset` is where it continues (nil: at its position), `timeout_ms` nil: until `resume`.
      Pause = Struct.new(:offset, :timeout_ms) do
        alias_method :position, :offset

        def pauses? = true
        def pausing(timeout_ms) = Pause.new(offset, timeout_ms)

        # @param earlier [Pause, Seek, nil] what the same call has requested before
        # @return [Pause, Seek] what counts of both: the last position, and this pause
        def after(earlier) = (offset.nil? && earlier) ? earlier.pausing(timeout_ms) : self
      end

      # Continue at `target`: an offset, :earliest or :latest. If `pauses` is true, pause the partition too, for `timeout_ms` as
      # of a {Pause}.
      Seek = Struct.new(:target, :pauses, :timeout_ms) do
        alias_method :position, :target

        def pauses? = pauses || false
        def pausing(timeout_ms) = Seek.new(target, true, timeout_ms)
        def after(_earlier) = self

        # @param offset [Integer]
        # @return [Boolean] whether a mark of that record is lost when the seek takes effect
        def drops?(offset) = target == :earliest || (target.is_a?(Integer) && offset >= target)
      end

      # The `message` of the event of a seek: `offset` is the requested one, or :earliest or :latest.
      Position = Struct.new(:topic, :partition, :offset)

      # Run records up to and including the one at `through` one by one, in the partition's order.
      Collapse = Struct.new(:through)

      # The call ended early (`adaptive_iterator`): only records that were marked are complete.
      MarkedOnly = Struct.new(:nothing) do
        def position = nil
        def pauses? = false
      end

      # End the user's pause.
      Resume = Struct.new(:nothing)

      ENDS = {earliest: -1, latest: Float::INFINITY}.freeze
      private_constant :ENDS

      class << self
        # @param flows [Array<Flow, nil>] requests that several instances of a consumer have made in the same hook
        # @return [Flow, nil] the lowest position of all, with the longest pause: nothing is passed over that an instance wants
        def combine(flows)
          flows = flows.compact
          return flows.first if flows.size < 2
          pauses = flows.select(&:pauses?)
          positioned = flows.select(&:position).min_by { |flow| ENDS.fetch(flow.position, flow.position) }
          first = positioned || pauses.first || flows.first
          return first if pauses.empty?
          times = pauses.map(&:timeout_ms)
          first.pausing((times.max unless times.include?(nil)))
        end
      end
    end
  end
end
