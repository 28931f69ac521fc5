# frozen_string_literal: true

module Penstock
  module Assignment
    # Decides the steps of one revocation, from its event until it is answered. Pure: {Runtime::Rebalances} sets the deadline,
    # reports what happened, asks for the next step and performs it; it also interrupts units at the deadline.
    #
    # States: draining (running units of the lanes end) → hooks (`revoked` runs where a consumer exists) → committing (their
    # last offsets are sent and awaited) → ready to answer. It may be interrupted by the deadline in any state (answer at once;
    # outcomes of units that still run are ignored), the loss of the assignment (no commit: the group has already assigned the
    # lanes to other members), or a stop of the process (the same states, an earlier deadline).
    class Revocation
      attr_reader :lanes, :partitions, :state

      # @return [Integer] monotonic ms; a stop may shorten it
      attr_accessor :deadline_ms

      # @param lanes [Array<Processing::Lane>]
      # @param partitions [Array<Array(String, Integer)>] as the event named them
      # @param lost [Boolean] the group has already assigned them to other members
      # @param deadline_ms [Integer] monotonic ms
      def initialize(lanes, lost:, deadline_ms:, partitions: lanes.map(&:key))
        @lanes = lanes
        @partitions = partitions
        @lost = lost
        @deadline_ms = deadline_ms
        @state = lost ? :ready : :draining
        @forced = false
        @hooked = false
      end

      def lost? = @lost

      # @return [Boolean] whether the hooks were started before the answer
      def hooked? = @hooked

      # @return [Boolean] whether the deadline ended it
      def forced? = @forced

      # Called when the assignment was lost while the revocation was in progress.
      def lose!
        @lost = true
        @state = :ready
      end

      # @param now [Integer] monotonic ms
      # @param committed [Boolean] whether no commit of these lanes is outstanding and none is needed
      # @return [Symbol] :wait, :hooks (start them now), :commit (send it now) or :answer
      def step(now, committed:)
        expire(now)
        case @state
        when :draining then drained? ? start_hooks : :wait
        when :hooks then drained? ? advance(:committing, :commit) : :wait
        when :committing then committed ? advance(:ready, :answer) : :wait
        else :answer
        end
      end

      # @return [Array<Processing::Lane>] lanes whose units are still running
      def unfinished = @lanes.reject(&:idle?)

      private

      def drained? = @lanes.all?(&:idle?)

      def start_hooks
        @hooked = true
        advance(:hooks, :hooks)
      end

      def advance(state, answer)
        @state = state
        answer
      end

      def expire(now)
        return if @state == :ready || now < @deadline_ms
        @forced = true
        @state = :ready
      end
    end
  end
end
