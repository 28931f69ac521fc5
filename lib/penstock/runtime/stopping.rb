# frozen_string_literal: true

module Penstock
  module Runtime
    # How one poll loop comes to rest: quiet (no new work, stay in the group) and stop (leave it), both without losing what runs.
    # Runs on the poll loop's thread.
    #
    # Stages: draining (units end) → interrupting (those that still run are interrupted, short grace) → hooks (`shutdown`) → then
    # :quiet, or committing (the last offsets, marked clean) → done. Interrupted by: the stop's deadline in every stage;
    # revocations and losses go on beside it, on the same turns.
    class Stopping
      # The last part of a stop's time is kept for interrupting, committing and leaving.
      RESERVE_SHARE = 0.15
      RESERVE_MS = (3_000..10_000)
      GRACE_MS = 2_000
      private_constant :RESERVE_SHARE, :RESERVE_MS, :GRACE_MS

      # @return [Symbol] :running, :draining, :interrupting, :hooks, :quiet, :committing or :done
      attr_reader :stage

      # @return [Array<Processing::Unit>] units that had not ended when their time was over
      attr_reader :unfinished

      # @param total_ms [Integer] a stop's whole time
      # @return [Integer] ms kept for what comes after draining
      def self.reserve_ms(total_ms)
        [(total_ms * RESERVE_SHARE).round.clamp(RESERVE_MS.begin, RESERVE_MS.end), total_ms / 2].min
      end

      # @param session [Session]
      # @param committer [Committer]
      # @param hooks [Hooks]
      # @param rebalances [Rebalances]
      def initialize(session, committer:, hooks:, rebalances:)
        @session = session
        @committer = committer
        @hooks = hooks
        @rebalances = rebalances
        @stage = :running
        @leave = false
        @hooked = false
        @deadline = nil
        @drain_ends = nil
        @unfinished = []
      end

      def running? = @stage == :running
      def done? = @stage == :done

      # No new work from here; what runs may end.
      def quiet
        return unless running?
        @session.feeding = false
        @session.all.each { |lane| settle_down(lane) }
        @stage = :draining
      end

      # @param deadline [Deadline] when the loop must have ended; a later call may only shorten it
      def stop(deadline)
        @leave = true
        @deadline = deadline
        left = deadline.remaining_ms || 60_000
        @drain_ends = @session.now + left - self.class.reserve_ms(left)
        @rebalances.hurry(@drain_ends)
        running? ? quiet : (@stage = :draining if @stage == :quiet)
      end

      # @return [Integer, nil] when to be run again, whatever happens
      def next_due
        case @stage
        when :draining then @drain_ends
        when :interrupting, :hooks, :committing then @grace_ends || @deadline&.at_ms
        end
      end

      # Goes on as far as it can.
      def run
        return if running? || done? || (@stage == :quiet && !@leave)
        nil while advance
      end

      private

      # A lane that came after `quiet` is held by `feeding` alone.
      def settle_down(lane)
        lane.leave!
        @session.call_back(lane)
      end

      def advance
        case @stage
        when :draining then drain
        when :interrupting then interrupted
        when :hooks then hooks
        when :committing then commit
        end
      end

      def drain
        return enter(:hooks) if idle?
        return unless @drain_ends && @session.now >= @drain_ends
        @session.all.each { |lane| lane.cut_off! unless lane.idle? }
        units = @session.pool.interrupt([*@session.all, *@session.left_running.values])
        @session.emit("app.interrupting", {jobs: units})
        @grace_ends = @session.now + GRACE_MS
        enter(:interrupting)
      end

      def interrupted
        return unless idle? || @session.now >= @grace_ends
        @unfinished = @session.pool.running.map(&:last).select { |unit| ours?(unit.lane) }
        enter(:hooks)
      end

      def hooks
        unless @hooked
          @hooked = true
          @hooks.run(:shutdown, @session.all)
          @grace_ends = @deadline && (@session.now + GRACE_MS) if @unfinished.any?
        end
        return unless idle? || overdue?
        @leave ? enter(:committing) : enter(:quiet)
      end

      def commit
        unless @committing
          @committing = true
          @committer.want(@session.all, clean: true)
        end
        return unless @committer.settled?(@session.all) || overdue?
        enter(:done)
      end

      def enter(stage)
        @stage = stage
        true
      end

      def idle? = @session.all.all?(&:idle?) && @session.left_running.empty? && !@rebalances.pending?
      def overdue? = [@grace_ends, @deadline&.at_ms].compact.any? { |at| @session.now >= at }
      def ours?(lane) = @session.current?(lane) || @session.left_running.value?(lane)
    end
  end
end
