# frozen_string_literal: true

require_relative "../../../processing/ticks"
require_relative "hooks"

module Penstock
  module Runtime
    # Hands out `tick` for partitions of periodic routes that had nothing to do for an interval, and for those whose user code
    # has wished for it. A tick goes through the run
    # queue like any unit of its lane, so no other unit of the lane runs at the same time. Runs on the poll loop's thread, after
    # a turn's feeding.
    class Ticker
      # @param connection [ConnectionState]
      def initialize(connection)
        @connection = connection
        @wanted = connection.group.topics.any? { |topic| topic.features[:periodic_job] }
        @ticks = {}.compare_by_identity
      end

      # @return [Integer, nil] monotonic ms
      def next_due
        return if @ticks.empty? || !@connection.feeding
        @ticks.each_value.filter_map(&:next_due).min
      end

      # Hands out the ticks that are due.
      def run
        return if !@connection.feeding || !(@wanted || @ticks.any?)
        now = @connection.now
        keep_up(now)
        @ticks.each { |lane, ticks| (kind = ticks.call(now)) && push(lane, kind) }
      end

      # User code has wished for a tick; the time is in the lane.
      # @param lane [Processing::Lane]
      def wished(lane)
        @ticks[lane] ||= Processing::Ticks.new(lane, lane.topic.features[:periodic_job], @connection.now)
      end

      private

      # Follows the lanes that were assigned and revoked.
      def keep_up(now)
        @ticks.delete_if { |lane, ticks| !@connection.current?(lane) || ticks.over? }
        return if !@wanted || @ticks.size == @connection.lanes.size
        @connection.lanes.each_value do |lane|
          job = lane.topic.features[:periodic_job]
          @ticks[lane] ||= Processing::Ticks.new(lane, job, now) if job
        end
      end

      def push(lane, kind)
        unit = lane.action_unit(:tick, Hooks.no_messages(lane))
        unit.wished = kind == :wished
        @connection.active.add(lane)
        @connection.pool.grow(@connection.queue.push(lane.assignment.slot, unit))
      end
    end
  end
end
