# frozen_string_literal: true

module Penstock
  module Processing
    # Queues records of a lane that were taken and wait for a worker, in offset order: the rest of a failed unit, units that
    # were called back, and records that were just taken. Units are cut from it; after a failure, single records up to the
    # blamed one.
    class Backlog
      def initialize
        @runs = []
        @isolate_from = @isolate_through = nil
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
      # @param from [Integer, nil] from there on; nil: from now on
      def isolate_through(offset, from = nil)
        @isolate_from = @isolate_through ? lower(@isolate_from, from) : from
        @isolate_through = [@isolate_through, offset].compact.max
      end

      def isolating? = !@isolate_through.nil?

      # @param max [Integer] most records to cut
      # @return [Messages, nil] nil when empty
      def cut(max)
        run = @runs.shift or return
        take = [piece_size(run, max), run.size].min
        put_back(run.slice(take, run.size - take)) if take < run.size
        run.slice(0, take)
      end

      # Replaces the records by redelivered ones, which are marked in another cell.
      # @param cell [Consumer::Marks] in which those are marked
      def use_cell(cell) = @runs.map! { |run| run.marked_in?(cell) ? run : run.again(cell) }

      # Records below the offset were marked after they had been put back, and needn't run again.
      # @param offset [Integer]
      def leave_out_below(offset)
        put_back(@runs.shift.from_offset(offset)) while !@runs.empty? && @runs.first.first_offset < offset
      end

      # Drops the records, which are read again; the isolated range is kept.
      def discard = @runs.clear

      def clear
        @runs.clear
        @isolate_from = @isolate_through = nil
      end

      private

      def lower(one, other) = (one && other) ? [one, other].min : nil

      def piece_size(run, max)
        return max unless @isolate_through
        before = @isolate_from ? run.size - run.from_offset(@isolate_from).size : 0
        return [before, max].min if before.positive?
        return 1 if run.first_offset <= @isolate_through
        @isolate_from = @isolate_through = nil
        max
      end
    end
  end
end
