# frozen_string_literal: true

require_relative "../routing/features/periodic_job"
require_relative "tick_wish"

module Penstock
  module Processing
    # Decides when a lane's `tick` is due: after each `interval` ms in which the lane had nothing to do, with or without
    # records; and once at the time that user code has wished ({TickWish}), when the lane's running units have ended.
    #
    # Pure: called in each turn of the loop after units were handed out, so that it notices every unit. `tick` isn't called for a
    # lane with running or queued units. It is called for a held lane if its route enables it: `during_pause` for anything that
    # blocks admission (the user's pause, a delay, a throttle, a filter), `during_retry` for a partition that waits for its next
    # attempt. A single key that waits for its retry doesn't prevent `tick`, nor does an open breaker if no record of the lane is
    # left to be tried: user code may hold them all, and write them in `tick`. For a wish that is due nothing new is handed out
    # (the hold `:tick`), because a busy lane might never be without a unit. One per lane, on its poll loop.
    class Ticks
      # Reasons for which the lane must not run user code yet, or any more.
      NEVER = %i[opening previous_epoch other_connection critical draining suspect instances insights].freeze
      RETRY = %i[retry dead_letter breaker redelivery].freeze
      # Of a lane whose route has no `periodic`: only wishes count.
      WISHES = Routing::PeriodicJob.new(Float::INFINITY, true, false, false)
      HOLD = :tick
      private_constant :NEVER, :RETRY, :WISHES

      # @param lane [Lane]
      # @param job [Routing::PeriodicJob, nil]
      # @param now [Integer] monotonic ms at which the lane was assigned
      def initialize(lane, job, now)
        @lane = lane
        @job = job || WISHES
        @last = now
        lane.tick_wish.add(now) if @job.at_once?
      end

      # @param now [Integer] monotonic ms
      # @return [Symbol, false] :wished or :periodic if `tick` is to be called; it is noted as called
      def call(now)
        wished = wish_due?(now)
        @lane.holds.release(HOLD) unless allowed? # a redelivery has to end first, and needs records
        return busy(now, wished) unless lane_idle?
        return restart_interval(now) if @busy && !wished
        due = wished || now >= @last + @job.interval
        (due && allowed?) ? called(now) : false
      end

      # @return [Integer, nil] monotonic ms; nil while another condition must change first
      def next_due
        return unless allowed?
        return [@last + @job.interval, @lane.tick_wish.due].compact.min.then { |due| due if due.is_a?(Integer) } if lane_idle?
        @lane.tick_wish.due unless @lane.holds.include?(HOLD)
      end

      # @return [Boolean] whether the lane may be forgotten until user code wishes for a tick again; not before the last one has
      #   ended, because it may be called back
      def over? = @job.equal?(WISHES) && @lane.tick_wish.due.nil? && @lane.idle?

      private

      def lane_idle? = @lane.idle? && !@lane.waiting?

      def wish_due?(now) = (due = @lane.tick_wish.due) ? due <= now : false

      def busy(now, wished)
        @lane.holds.add(HOLD) if wished && allowed?
        @busy = true
        @last = now
        false
      end

      def called(now)
        @busy = false
        @last = now
        @lane.holds.release(HOLD)
        @lane.tick_wish.take ? :wished : :periodic
      end

      # The interval begins when the last unit has ended.
      def restart_interval(now)
        @busy = false
        @last = now
        false
      end

      def allowed?
        return false if @lane.leaving? || !@lane.owned?
        reasons = [*@lane.holds.reasons, *@lane.intake.reason] - [HOLD]
        return false if reasons.intersect?(NEVER)
        reasons.delete(:breaker) if @lane.division.empty? || reasons.include?(:user) # either way nothing can be tried
        return false if reasons.intersect?(RETRY) && !@job.during_retry?
        @job.during_pause? || (reasons - RETRY).empty?
      end
    end
  end
end
