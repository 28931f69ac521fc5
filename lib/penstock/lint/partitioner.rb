# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # A partitioner that is watched: it must answer the same key for a message whenever it is asked, and a key that can be told
    # from others. Behaves as the partitioner does.
    class Partitioner
      # @param partitioner [#call] takes a message, answers its key
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
        wrong(message, "answers #{key.is_a?(Float) ? "a Float" : "the message itself"}", "answer what messages have in common")
      end

      def unstable(key, message)
        wrong(message, "answers two different keys (#{key.class})",
          "depend on nothing but the message, and answer what has an `eql?` and a `hash`, such as a String or an Integer")
      end

      def wrong(message, what, way_out) = raise(Violation, "the partitioner #{what} for #{message.uid}: #{way_out}")
    end

    # A reducer that is watched: the same slot for a key whenever it is asked, and one there is.
    class Reducer
      # @param reducer [#call] takes a key, answers its slot
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
        raise Violation, "the reducer answers #{slot.inspect[0, 40]}, then #{again.inspect[0, 40]} for one key: answer the " \
                         "same Integer from 0 to #{@slots - 1} each time"
      end
    end
  end
end
