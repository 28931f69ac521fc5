# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # Wraps a partitioner and checks it: it must always return the same key for a message, and a key that is comparable
    # with others. Behaves like the partitioner it wraps.
    class Partitioner
      # @param partitioner [#call] takes a message, returns its key
      def initialize(partitioner)
        @partitioner = partitioner
      end

      # @param message [Message]
      # @return [Object] the key
      # @raise [Violation]
      def call(message)
        key, again = Array.new(2) { @partitioner.call(message) }
        itself(key, message)
        unstable(key, message) unless key.eql?(again) && key.hash == again.hash
        key
      end

      private

      def itself(key, message)
        return unless key.equal?(message) || key.is_a?(Float)
        wrong(message, "returns #{key.is_a?(Float) ? "a Float" : "the message itself"}",
          "return a value that messages have in common")
      end

      def unstable(key, message)
        wrong(message, "returns two different keys (#{key.class})",
          "depend on nothing but the message, and return a value with `eql?` and `hash`, such as a String or an Integer")
      end

      def wrong(message, what, way_out) = raise(Violation, "the partitioner #{what} for #{message.uid}: #{way_out}")
    end

    # Wraps a reducer and checks it: it must always return the same slot for a key, and a valid one.
    class Reducer
      # @param reducer [#call] takes a key, returns its slot
      # @param slots [Integer] `max_partitions`
      def initialize(reducer, slots)
        @reducer = reducer
        @slots = slots
      end

      # @param key [Object]
      # @return [Integer]
      # @raise [Violation]
      def call(key)
        slot, again = Array.new(2) { @reducer.call(key) }
        return slot if slot == again && slot.is_a?(Integer) && slot >= 0 && slot < @slots
        raise Violation, "the reducer returns #{slot.inspect[0, 40]}, then #{again.inspect[0, 40]} for one key: return the " \
                         "same Integer from 0 to #{@slots - 1} each time"
      end
    end
  end
end
