# frozen_string_literal: true

require_relative "../../errors"

module Penstock
  module Runtime
    # How long a poll loop waits for the name of its static member. Under KIP-848 a coordinator refuses a newcomer whose name
    # another member has. If that one was killed, its name is free when its session has ended.
    class HeldName
      # Longer than the session of a member that was killed (by default 45 s), and than the pause before any try.
      AWAITED_MS = 60_000
      private_constant :AWAITED_MS

      def initialize
        @first = @last = nil
      end

      # Called for each error after which the connection is re-opened.
      # @param error [Exception]
      # @param now [Integer] monotonic ms
      # @return [Boolean] whether the name is refused for that long: the process must end
      def given_up(error, now)
        return false unless error.is_a?(KafkaError) && error.code == :unreleased_instance_id
        @first = now if @last.nil? || now - @last > AWAITED_MS
        @last = now
        now - @first >= AWAITED_MS
      end
    end
  end
end
