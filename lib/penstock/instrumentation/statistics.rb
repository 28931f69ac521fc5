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
        @names = {}
        @pending = []
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

      # A Hash must not grow during its iteration, so the keys of its numbers are collected first: above `base` in one Array for
      # all Hashes, because a listed client may have thousands of them. Apart from that Array nothing is allocated per number.
      def decorate(current, previous, elapsed)
        base = @pending.size
        previous = nil unless previous.is_a?(Hash)
        current.each do |key, value|
          case value
          when Integer, Float then @pending << key
          when Hash then decorate(value, previous && previous[key], elapsed)
          end
        end
        number(current, @pending.pop, previous, elapsed) while @pending.size > base
      end

      def number(current, key, previous, elapsed)
        change_name, unchanged_name = names(key)
        before = previous && previous[key]
        comparable = before.is_a?(Numeric)
        change = comparable ? current[key] - before : 0
        current[change_name] = change
        current[unchanged_name] = (comparable && change.zero?) ? (previous[unchanged_name] || 0) + elapsed : 0
      end

      # They are the same for every partition and every emission.
      def names(key) = @names[key] ||= [-"#{key}_d", -"#{key}_fd"].freeze
    end
  end
end
