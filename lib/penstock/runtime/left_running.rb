# frozen_string_literal: true

module Penstock
  module Runtime
    # Lanes that were given up while units of them still ran. The same partition may come back meanwhile: what still runs keeps
    # its lane busy, or its keys where keys run side by side, so that nothing is run by two threads of one process at once.
    # One per poll loop, outlives its connections; lives on the loop's thread.
    class LeftRunning
      def initialize
        @lanes = Hash.new { |known, key| known[key] = [] }
      end

      # @param lane [Processing::Lane] given up, not idle
      def add(lane) = @lanes[lane.key] << lane

      # A partition is ours again: what ran before goes first.
      # @param lane [Processing::Lane]
      def hold(lane)
        @lanes.fetch(lane.key, []).each do |old|
          next lane.holds.add(:previous_epoch) unless old.rolling? && lane.rolling?
          lane.division.block(old.division.busy_keys)
        end
      end

      # A unit of a lane that was given up has ended.
      # @param unit [Processing::Unit]
      # @param present [Processing::Lane, nil] the same partition, if it is ours again
      def ended(lane, unit, present)
        olds = @lanes.fetch(lane.key, [])
        return unless olds.include?(lane)
        present.division.unblock(unit.key) if present&.rolling? && unit.consume?
        return unless lane.idle?
        olds.delete(lane)
        @lanes.delete(lane.key) if olds.empty?
        present&.holds&.release(:previous_epoch) if olds.empty?
      end

      # @return [Array<Processing::Lane>]
      def values = @lanes.each_value.to_a.flatten

      def empty? = @lanes.empty?
      def any? = !empty?
      def value?(lane) = @lanes.fetch(lane.key, []).include?(lane)
    end
  end
end
