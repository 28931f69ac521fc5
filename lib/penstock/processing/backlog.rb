# frozen_string_literal: true

module Penstock
  module Processing
    # Records of a lane that were taken and wait for a worker, in offset order: what is left of a failed unit, units that were
    # called back, and what was just taken. Pieces are cut from it; after a failure, single records up to the blamed one.
    class Backlog
      def initialize
        @runs = []
        @isolate_through = nil
      end

      def empty? = @runs.empty?
      def size = @runs.sum(&:size)
      def first_offset = @runs.first&.first_offset

      # @param messages [Messages] records that follow everything in the backlog
      def push(messages)
        @runs.push(messages) unless messages.empty?
      end

      # @param messages [Messages] records that come before everything in the backlog
      def put_back(messages)
        @runs.unshift(messages) unless messages.empty?
      end

      # @param offset [Integer] up to and including this one, records are cut one by one
      def isolate_through(offset)
        @isolate_through = [@isolate_through, offset].compact.max
      end

      def isolating? = !@isolate_through.nil?

      # @param max [Integer] records a piece may have
      # @return [Messages, nil] nil when empty
      def cut(max)
        run = @runs.shift or return
        take = [piece_size(run, max), run.size].min
        put_back(run.slice(take, run.size - take)) if take < run.size
        run.slice(0, take)
      end

      def clear
        @runs.clear
        @isolate_through = nil
      end

      private

      def piece_size(run, max)
        return max unless @isolate_through
        return 1 if run.first_offset <= @isolate_through
        @isolate_through = nil
        max
      end
    end
  end
end
