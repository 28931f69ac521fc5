# frozen_string_literal: true

module Penstock
  module Processing
    # A user's seek that waits until everything below its limit is complete: a part of its lane, which has at most one.
    class AwaitedSeek
      # @return [Integer, nil] only records below it may begin; nil: no seek waits
      attr_reader :limit

      # @param lane [Lane]
      def initialize(lane)
        @lane = lane
      end

      # Everything below the limit completes first, in order, and nothing beyond it begins meanwhile. Of two seeks that wait, the
      # one that skips less counts.
      # @param target [Integer, :latest]
      # @param limit [Integer] at most the first record of the unit that asked
      def wait(target, limit)
        @target = [target, @target].grep(Integer).min || :latest
        @limit = [limit, @limit].compact.min
        @lane.division.collapse(@limit - 1, only: true)
      end

      # Records that are left incomplete for good are waited for only while something else is left to do.
      # @return [Integer, :latest, nil] where to continue now
      def due
        return if @limit.nil? || @lane.leaving? || !@lane.owned?
        @target if @lane.ledger.base >= @limit || (@lane.idle? && @lane.division.empty?)
      end

      def clear = @target = @limit = nil
    end
  end
end
