# frozen_string_literal: true

module Penstock
  module Runtime
    # Keeps the lanes that were revoked while units of them still ran. If the same partition is assigned again in the meantime,
    # the running units hold the new lane, or block their keys in it where it runs by key, so that two threads of one process
    # never run the same records. One for each poll loop, outlives its connections; used on the loop's thread.
    class OrphanedUnits
      def initialize
        @lanes = Hash.new { |known, key| known[key] = [] }
      end

      # @param lane [Processing::Lane] revoked, not idle
      def add(lane) = @lanes[lane.key] << lane

      # Holds a lane whose partition is assigned again, until its orphaned units have ended.
      # @param lane [Processing::Lane]
      def hold(lane)
        @lanes.fetch(lane.key, []).each do |old|
          next lane.holds.add(:previous_epoch) unless old.by_key? && lane.by_key?
          lane.division.block(old.division.busy_keys)
        end
      end

      # A unit of a revoked lane has ended.
      # @param unit [Processing::Unit]
      # @param present [Processing::Lane, nil] the lane of the same partition, if it is assigned again
      def ended(lane, unit, present)
        olds = @lanes.fetch(lane.key, [])
        return unless olds.include?(lane)
        present.division.unblock(unit.key) if present&.by_key? && unit.consume?
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
