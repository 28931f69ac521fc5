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
      NONE = {}.freeze
      private_constant :NONE

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

      # A Hash must not grow during its iteration, so its numbers are collected first: above `base` in one Array for all Hashes,
      # because a listed client may have thousands of them. Apart from that Array nothing is allocated per number.
      def decorate(current, previous, elapsed)
        pending = @pending
        base = pending.size
        previous = NONE unless previous.is_a?(Hash)
        current.each do |key, value|
          case value
          when Integer, Float then pending << value << key
          when Hash then decorate(value, previous[key], elapsed)
          end
        end
        number(current, pending.pop, pending.pop, previous, elapsed) while pending.size > base
      end

      def number(current, key, value, previous, elapsed)
        names = @names[key] || names(key)
        before = previous[key]
        return current[names[0]] = current[names[1]] = 0 unless before.is_a?(Numeric)
        change = value - before
        current[names[0]] = change
        current[unchanged = names[1]] = (change == 0) ? previous[unchanged] + elapsed : 0
      end

      # They are the same for every partition and every emission.
      def names(key) = @names[key] = [-"#{key}_d", -"#{key}_fd"].freeze
    end
  end
end
