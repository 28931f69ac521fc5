# frozen_string_literal: true

module Penstock
  module Processing
    # Decides when a lane's `tick` is due: after each `interval` ms in which the lane had nothing to do, with or without
    # records.
    #
    # Pure: called in each turn of the loop after units were handed out, so that it notices every unit. `tick` isn't called for a
    # lane with running or queued units. It is called for a held lane if its route enables it: `during_pause` for anything that
    # blocks admission (the user's pause, a delay, a throttle, a filter), `during_retry` for a partition that waits for its next
    # attempt. A single key that waits for its retry doesn't prevent `tick`. One per lane, on its poll loop.
    class Ticks
      # Reasons for which the lane must not run user code yet, or any more.
      NEVER = %i[opening previous_epoch other_connection critical draining suspect instances insights].freeze
      RETRY = %i[retry dead_letter breaker redelivery].freeze
      private_constant :NEVER, :RETRY

      # @param lane [Lane]
      # @param job [Routing::PeriodicJob]
      # @param now [Integer] monotonic ms at which the lane was assigned
      def initialize(lane, job, now)
        @lane = lane
        @job = job
        @last = now
      end

      # @param now [Integer] monotonic ms
      # @return [Boolean] whether to call `tick`; if so, it is noted as called
      def call(now)
        return busy(now) unless lane_idle?
        return restart_interval(now) if @busy
        return false unless now >= @last + @job.interval && allowed?
        @last = now
        true
      end

      # @return [Integer, nil] monotonic ms; nil while another condition must change first
      def next_due = (lane_idle? && allowed?) ? @last + @job.interval : nil

      private

      def lane_idle? = @lane.idle? && !@lane.waiting?

      def busy(now)
        @busy = true
        @last = now
        false
      end

      # The interval begins when the last unit has ended.
      def restart_interval(now)
        @busy = false
        @last = now
        false
      end

      def allowed?
        return false if @lane.leaving? || !@lane.owned?
        reasons = [*@lane.holds.reasons, *@lane.intake.reason]
        return false if reasons.intersect?(NEVER)
        return false if reasons.intersect?(RETRY) && !@job.during_retry?
        @job.during_pause? || (reasons - RETRY).empty?
      end
    end
  end
end
