# frozen_string_literal: true

module Penstock
  module Runtime
    # Stops one poll loop: quiet (no new work, stay in the group) and stop (leave it), both without losing running units. Runs
    # on the poll loop's thread.
    #
    # Stages: draining (units end) → interrupting (those that still run are interrupted, short grace) → hooks (`shutdown`) →
    # then :quiet, or committing (the last offsets, marked clean) → done. Each stage has a time limit of its own within the
    # stop's time, so that one unit that doesn't end doesn't prevent the commit of the others. Revocations and losses are
    # handled at the same time, on the same turns.
    class Stopping
      # The last part of a stop's time is reserved for interrupting, committing and leaving.
      RESERVE_SHARE = 0.15
      RESERVE_MS = (3_000..10_000)
      GRACE_MS = 2_000
      # Share of the reserve that is left at the end of a stage.
      LEFT_OF_RESERVE = {interrupting: 0.5, hooks: 0.35, committing: 0.2}.freeze
      private_constant :RESERVE_SHARE, :RESERVE_MS, :GRACE_MS, :LEFT_OF_RESERVE

      # @return [Symbol] :running, :draining, :interrupting, :hooks, :quiet, :committing or :done
      attr_reader :stage

      # @return [Array<Processing::Unit>] units that had not ended within their time, or whose transaction had no known outcome
      attr_reader :unfinished

      # @return [Array<Processing::Unit>] units that still ran when the time for draining had passed, and were interrupted. Some
      #   may have ended since
      attr_reader :interrupted_units

      # @param total_ms [Integer] a stop's whole time
      # @return [Integer] ms reserved for the stages after draining
      def self.reserve_ms(total_ms)
        [(total_ms * RESERVE_SHARE).round.clamp(RESERVE_MS.begin, RESERVE_MS.end), total_ms / 2].min
      end

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param hooks [Hooks]
      # @param rebalances [Rebalances]
      def initialize(connection, committer:, hooks:, rebalances:)
        @connection = connection
        @committer = committer
        @hooks = hooks
        @rebalances = rebalances
        @stage = :running
        @leave = false
        @hooked = false
        @ends = {}
        @stage_ends = nil
        @unfinished = []
        @interrupted_units = []
      end

      # @return [Boolean] whether time ran out while units still ran
      def forced? = @unfinished.any? || @interrupted_units.any?

      def running? = @stage == :running
      def done? = @stage == :done

      # Takes no new work; running units may end.
      def quiet
        return unless running?
        @connection.feeding = false
        @connection.all.each { |lane| make_quiet(lane) }
        @stage = :draining
      end

      # @param deadline [Deadline] when the loop must have ended; a later call may only shorten it
      def stop(deadline)
        @leave = true
        left = deadline.remaining_ms
        reserve = self.class.reserve_ms(left)
        @ends = LEFT_OF_RESERVE.transform_values { |share| (deadline.at_ms - reserve * share).round }
        @ends[:draining] = deadline.at_ms - reserve
        @rebalances.shorten_deadline(@ends[:draining])
        running? ? quiet : (@stage = :draining if @stage == :quiet)
      end

      # @return [Integer, nil] monotonic ms of the next run, even without an event
      def next_due
        @stage_ends || @ends[@stage]
      end

      # Advances through the stages as far as possible now.
      def run
        return if running? || done? || (@stage == :quiet && !@leave)
        nil while advance
      end

      private

      # A lane assigned after `quiet` is held by `feeding` alone.
      def make_quiet(lane)
        lane.leave!
        @connection.call_back(lane)
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
        return unless stage_timed_out?
        @connection.all.each { |lane| lane.cut_off! unless lane.idle? }
        @interrupted_units = @connection.pool.interrupt(lanes)
        @connection.emit("app.interrupting", {jobs: @interrupted_units | deferred_units})
        enter(:interrupting)
        @stage_ends = [@connection.now + GRACE_MS, @ends[:interrupting]].min
        true
      end

      def interrupted
        return unless idle? || stage_timed_out?
        @unfinished = running_units
        enter(:hooks)
      end

      def hooks
        unless @hooked
          @hooked = true
          @hooks.run(:shutdown, @connection.all)
        end
        return unless hooks_ended? || stage_timed_out?
        return enter(:committing) if @leave
        @connection.emit("connection.listener.quiet", {subscription_group: @connection.group})
        enter(:quiet)
      end

      def commit
        unless @committing
          @committing = true
          @committer.request_commit(@connection.all, clean: true)
        end
        acknowledged = @committer.settled_or_doubtful?(@connection.all)
        return unless acknowledged || stage_timed_out?
        @committer.abandon(@connection.all) unless acknowledged
        @unfinished |= running_units
        enter(:done)
      end

      def enter(stage)
        @stage = stage
        @stage_ends = nil
        true
      end

      def running_units = @connection.pool.running.map(&:last).select { |unit| ours?(unit.lane) } | deferred_units

      # Units whose outcome is deferred. Their workers have finished, so they aren't interrupted, and the pool doesn't list them.
      def deferred_units = lanes.filter_map { |lane| lane.offset_slot.deferred_unit }

      # Whether hooks have ended. They don't wait for units that haven't ended after their interruption.
      def hooks_ended? = idle? || (@unfinished.any? && (busy - @unfinished.map(&:lane)).empty? && !@rebalances.pending?)

      def lanes = [*@connection.all, *@connection.orphaned_units.values]
      def busy = lanes.reject(&:idle?)

      def idle? = @connection.all.all?(&:idle?) && @connection.orphaned_units.empty? && !@rebalances.pending?
      def stage_timed_out? = (ends = next_due) && @connection.now >= ends
      def ours?(lane) = @connection.current?(lane) || @connection.orphaned_units.value?(lane)
    end
  end
end
