# frozen_string_literal: true

module Penstock
  module Server
    # The states of a process, in one direction: entering an earlier or a past state is silently ignored. Any thread.
    class Lifecycle
      STATES = %i[initializing initialized supervising running quieting quiet stopping stopped terminated].freeze

      # @param announce [#call] called with each entered state
      def initialize(announce = ->(_state) {})
        @lock = Mutex.new
        @announce = announce
        @state = STATES.first
      end

      # @return [Symbol] one of {STATES}
      attr_reader :state

      # @param state [Symbol]
      # @return [Boolean] whether it was entered
      def enter(state) = skip_to(state).tap { |entered| @announce.call(state) if entered }

      # The same, without announcing it.
      def skip_to(state)
        @lock.synchronize do
          ahead = STATES.index(state) > STATES.index(@state)
          @state = state if ahead
          ahead
        end
      end

      STATES.each do |state|
        # @return [Boolean]
        define_method(:"#{state}?") { @state == state }
      end

      # @return [Boolean] whether the process is quieting, quiet, stopping or stopped
      def done? = STATES.index(@state) >= STATES.index(:quieting)
    end
  end
end
