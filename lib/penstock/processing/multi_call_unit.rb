# frozen_string_literal: true

module Penstock
  module Processing
    # Holds the remaining records of a unit with several calls of `consume`, which the same worker runs one after another. A
    # unit has one where calls are so quick that handing each over between loop and worker would take longer.
    #
    # The unit always describes the current call: `messages` and `upto` advance with it. Finished calls count through a mark, like
    # one of the user's; records not begun (`rest`) come back with the outcome, and the lane stalls until the loop has requeued
    # them. The worker stops after any call but a plain success, when the unit has run for its maximum time, when the lane is
    # being revoked, or when the loop ends the stretch. So withdrawing a stretch never takes longer than one call.
    #
    # Created by the lane's division. `rest` belongs to the worker until the outcome is there; {#finish!} is called by the loop.
    class MultiCallUnit
      # @return [Integer] first offset of the unit as it was handed out
      attr_reader :first_offset

      # @return [Integer] last offset of the unit as it was handed out
      attr_reader :last_offset

      # @return [Integer] records of the unit as it was handed out
      attr_reader :size

      # @return [Messages, nil] records not begun
      attr_reader :rest

      # @return [Integer] number of calls begun
      attr_reader :calls

      # @param messages [Messages] more than fit in one call
      # @param max [Integer] most records of a call
      def initialize(messages, max)
        @first_offset = messages.first_offset
        @last_offset = messages.last_offset
        @size = messages.size
        @max = max
        @rest = messages
        @calls = 0
        @finished = false
      end

      # Called by the loop, which wants the records that weren't begun back: no further call begins.
      def finish! = @finished = true

      # @return [Boolean] whether no further call may begin
      def finished? = @finished || @rest.nil?

      # Cuts the records of the next call. It must not be interrupted halfway, so nothing in here may wait.
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
