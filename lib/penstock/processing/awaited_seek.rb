# frozen_string_literal: true

module Penstock
  module Processing
    # A user's seek that waits until other calls' records below its limit are complete: a part of its lane, which has at most one.
    class AwaitedSeek
      # @return [Integer, nil] only records below it may begin; nil: no seek waits
      attr_reader :limit

      # @param lane [Lane]
      def initialize(lane)
        @lane = lane
        @own = []
      end

      # Other calls' records below the limit complete first, in order, and nothing beyond it begins meanwhile. Of two seeks that
      # wait, the one that skips less counts.
      # @param target [Integer, :latest] :latest if the log's end isn't known
      # @param limit [Integer]
      # @param own [Array<Integer>] offsets of the unit that asked: nothing waits for them
      def wait(target, limit, own)
        @target = [target, @target].grep(Integer).min || :latest
        @limit = [limit, @limit].compact.min
        @own |= own
        @lane.division.collapse(@limit - 1, only: true)
      end

      # Records that are left incomplete for good are waited for only while something else below the limit is left to do.
      # @return [Integer, :latest, nil] where to continue now
      def due
        return if @limit.nil? || @lane.leaving? || !@lane.owned?
        @target if !before?(@limit, @own) || (@lane.idle? && @lane.division.empty?(@limit))
      end

      # @param limit [Integer]
      # @param own [Array<Integer>]
      # @return [Boolean] whether records below the limit are incomplete, other than these
      def before?(limit, own)
        lowest = @lane.ledger.incomplete_offsets(own.size + 1)
        lowest.any? { |offset| offset < limit && !own.include?(offset) }
      end

      def clear
        @target = @limit = nil
        @own = []
      end
    end
  end
end
