# frozen_string_literal: true

module Penstock
  module Processing
    # What a unit has behind the records it is at: more of its lane, which the same worker goes on with, a call of `consume` each.
    # A unit has one where calls are over before the loop and the worker have handed it to and fro.
    #
    # The unit is always what the worker is at: `messages` and `upto` move on with it. What it has been through counts by a mark,
    # like one of the user's; what it hasn't begun (`rest`) comes back with its outcome, and the lane stalls until the loop has
    # put it back. It goes no further behind anything but plain success, when it has taken its time, when the lane is given up,
    # or when the loop says that it is over: what is called back waits no longer for a stretch than for a call.
    #
    # Made by the lane's division. `rest` belongs to the worker until the outcome is there; {#over!} is the loop's.
    class Stretch
      # @return [Integer] first offset of the unit as it was handed out
      attr_reader :first_offset

      # @return [Integer] last offset of the unit as it was handed out
      attr_reader :last_offset

      # @return [Integer] records of the unit as it was handed out
      attr_reader :size

      # @return [Messages, nil] what wasn't begun
      attr_reader :rest

      # @return [Integer] calls begun
      attr_reader :calls

      # @param messages [Messages] more than one call may have
      # @param max [Integer] records of a call
      def initialize(messages, max)
        @first_offset = messages.first_offset
        @last_offset = messages.last_offset
        @size = messages.size
        @max = max
        @rest = messages
        @calls = 0
        @over = false
      end

      # The loop wants back what wasn't begun.
      def over! = @over = true

      # @return [Boolean] whether nothing more of it may be begun
      def over? = @over || @rest.nil?

      # Cuts what comes next. All of it or nothing: there is nothing in here that waits.
      # @return [Messages]
      def cut
        rest = @rest
        @calls += 1
        @rest = (rest.slice(@max, rest.size - @max) if rest.size > @max)
        @rest ? rest.slice(0, @max) : rest
      end
    end
  end
end
