# frozen_string_literal: true

require_relative "../processing/ticks"
require_relative "hooks"

module Penstock
  module Runtime
    # Hands out `tick` for partitions whose routes are periodic and which had nothing to do for an interval. A tick goes through
    # the run queue like any unit of its lane, so nothing of the lane runs beside it. Runs on the poll loop's thread, behind the
    # feeding of a turn.
    class Ticker
      # @param session [Session]
      def initialize(session)
        @session = session
        @wanted = session.group.topics.any? { |topic| topic.features[:periodic_job] }
        @ticks = {}.compare_by_identity
      end

      # @return [Integer, nil] monotonic ms
      def next_due
        return unless @wanted && @session.feeding
        @ticks.each_value.filter_map(&:next_due).min
      end

      # Hands out what is due.
      def run
        return unless @wanted && @session.feeding
        now = @session.now
        keep_up(now)
        @ticks.each { |lane, ticks| push(lane) if ticks.call(now) }
      end

      private

      # Lanes come and go.
      def keep_up(now)
        @ticks.delete_if { |lane, _ticks| !@session.current?(lane) }
        return if @ticks.size == @session.lanes.size
        @session.lanes.each_value do |lane|
          job = lane.topic.features[:periodic_job]
          @ticks[lane] ||= Processing::Ticks.new(lane, job, now) if job
        end
      end

      def push(lane)
        unit = lane.action_unit(:tick, Hooks.no_messages(lane))
        @session.pool.grow(@session.queue.push(lane.slot, unit))
      end
    end
  end
end
