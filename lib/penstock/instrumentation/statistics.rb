# frozen_string_literal: true

require "json"
require_relative "../clock"
require_relative "../native/stats_changes"

module Penstock
  module Instrumentation
    # Parses a client's statistics into a Hash and adds two values to every number: `<key>_d`, its change since the last
    # time, and `<key>_fd`, the milliseconds since its last change. The first time every change is 0: there is nothing
    # to compare with, and a jump from nothing would look like traffic.
    #
    # One per client, called by one thread (the reporter's).
    class Statistics
      # @param clock [#call] monotonic ms
      def initialize(clock = -> { Clock::SYSTEM.monotonic_ms })
        @clock = clock
        @previous = nil
        @at = nil
        @names = {}
      end

      # @param json [String] as librdkafka emits it
      # @yieldparam current [Hash] the parsed statistics, to be corrected before they are compared
      # @return [Hash{String => Object}]
      def call(json)
        # Two brokers with the same name (the bootstrap one and its successor before the first answer) have the same
        # key.
        current = ::JSON.parse(json, allow_duplicate_key: true)
        yield current if block_given?
        now = @clock.call
        Native::StatsChanges.call(current, @previous, @at ? now - @at : 0, @names)
        @previous = current
        @at = now
        current
      end
    end
  end
end
