# frozen_string_literal: true

require "json"
require_relative "../clock"

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
        decorate(current, @previous, @at ? now - @at : 0)
        @previous = current
        @at = now
        current
      end

      private

      # The keys are listed first because the Hash grows during the iteration.
      def decorate(current, previous, elapsed)
        current.keys.each do |key|
          value = current[key]
          before = previous.is_a?(Hash) ? previous[key] : nil
          case value
          when Hash then decorate(value, before, elapsed)
          when Numeric then number(current, key, value, before, previous, elapsed)
          end
        end
      end

      def number(current, key, value, before, previous, elapsed)
        change = before.is_a?(Numeric) ? value - before : 0
        current["#{key}_d"] = change
        frozen = before.is_a?(Numeric) ? (previous["#{key}_fd"] || 0) + elapsed : 0
        current["#{key}_fd"] = change.zero? ? frozen : 0
      end
    end
  end
end
