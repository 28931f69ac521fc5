# frozen_string_literal: true

require_relative "../../../assignment/revocation"
require_relative "../../../config/memory_budget"
require_relative "../../../errors"
require_relative "../../error_codes"
require_relative "../../../processing/lane"

module Penstock
  module Runtime
    # Answers the group's rebalance events in order: an assignment at once; a revocation when no unit of its lanes runs any
    # more, its hooks have run and its offsets are acknowledged, or when its drain has ended. Units that still run then are
    # interrupted, in topics with `interruptible` ({#finish}). Runs on the poll loop's thread.
    class Rebalances
      # Longest time in ms that a revocation may wait; unpatched librdkafka stops every lane of the member meanwhile.
      DRAIN_MS = {eager: 5_000, cooperative: 30_000, unpatched: 2_000}.freeze

      # This long before the end of a drain, and at most a quarter of it, the offsets completed by then are committed.
      EARLY_MS = 1_000
      # Interval of checking whether a unit on another connection of the process has ended.
      LOOK_MS = 50
      REVOKED = "the partition was revoked and the time for this job has run out"
      private_constant :EARLY_MS, :REVOKED, :LOOK_MS

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param offset_lookup [OffsetLookup]
      # @param lanes [#call] creates a lane: `call(topic, topic_name, partition, epoch, source)`
      # @param hooks [Hooks]
      def initialize(connection, committer:, offset_lookup:, lanes:, hooks:)
        @connection = connection
        @committer = committer
        @offset_lookup = offset_lookup
        @lanes = lanes
        @hooks = hooks
        @events = []
        @partitions_lost = false
        @on_loss = nil
        @waiting = []
        @revocation = nil
      end

      # @param event [Array] :assign or :revoke, as the driver gives it
      def handle(event)
        @events << event
        expelled if @revocation && event[0] == :revoke && event[2]
        run
      end

      # The broker no longer knows this member, or the group reassigned the partitions while their units were still running.
      def expelled
        return unless @revocation && !@revocation.lost?
        @revocation.lose!
        @revocation.lanes.each(&:end_ownership!)
        run
      end

      # Called when another process has taken this member's place. It reads the partitions already, and the driver emits no event
      # for that.
      def fenced
        expelled
        lanes = @connection.all
        lanes.each do |lane|
          leave(lane, true)
          release_lane(lane, late: true)
        end
        emit("rebalance.partitions_revoked", lanes.map(&:key), lost: true) unless lanes.empty?
      end

      # Called when the connection is about to be closed, which revokes its partitions.
      # @param lost [Boolean] whether the partitions are lost, and not revoked in agreement with the group
      def leaving(lost:)
        @lost = lost
        @left = @connection.all.map(&:key)
        @client_id = client_id if @left.any?
        news = @left - (@revocation&.partitions || [])
        emit("rebalance.partitions_revoke", news, lost: lost) if news.any?
      end

      # The connection is closed.
      def left
        emit("rebalance.partitions_revoked", @left, lost: @lost) if @left&.any?
      end

      # @return [Boolean] whether a revocation waits for its answer
      def pending? = !@revocation.nil? || @events.any?

      # @return [#call, nil] called when partitions are lost
      attr_writer :on_loss

      # @return [Boolean] whether partitions were lost and none have been assigned since. Any thread
      def lost? = @partitions_lost

      # @return [Boolean] whether neither a rebalance nor an opening is in progress. Any thread may call it; the answer may be
      #   slightly out of date
      def stable?
        !pending? && !@taking && @connection.all.none? { |lane| lane.holds.include?(:opening) }
      end

      # @return [Integer, nil] monotonic ms of the next run, even without an event
      def next_due
        return if @revocation.nil? && @waiting.empty?
        [@revocation&.deadline_ms, @early_at, (@connection.now + LOOK_MS if @waiting.any?)].compact.min
      end

      # Shortens the deadline of a revocation in progress, because a stop has less time than a drain.
      # @param deadline_ms [Integer]
      def shorten_deadline(deadline_ms)
        return unless @revocation && deadline_ms < @revocation.deadline_ms
        @revocation.deadline_ms = deadline_ms
        @early_at &&= [@early_at, deadline_ms - EARLY_MS].min
      end

      # Processes the events as far as possible now.
      def run
        @waiting.select! { |lane| wait_for_others(lane) } if @waiting.any?
        loop do
          return unless @revocation ? step : begin_next
        end
      end

      private

      def begin_next
        @taking = @events.first&.first == :assign # until the lanes of the new epoch are there
        event = @events.shift or return false
        @taking ? assign(event[1]) : begin_revocation(event[1], event[2])
        true
      ensure
        @taking = false
      end

      # --- assignment

      def assign(partitions)
        emit("rebalance.partitions_assign", partitions)
        epoch = @connection.next_epoch
        @partitions_lost = false
        lanes = partitions.filter_map { |topic, partition| lane(topic, partition, epoch) }
        answer
        @connection.all.each { |lane| lane.takes.may_repeat! unless lanes.include?(lane) }
        lanes.each { |lane| take_over(lane) }
        @connection.driver.touch(sources(@connection.all))
        @offset_lookup.open(lanes)
        over_budget if @connection.lanes.size > Config::MemoryBudget::UNKNOWN_LANES
        emit("rebalance.partitions_assigned", partitions, kept: @connection.all.map(&:key) - partitions)
      end

      # The share of a lane was computed when the client was created and can't be changed in a live one.
      def over_budget
        @connection.emit("rebalance.over_budget", {subscription_group_id: @connection.group.id, lanes: @connection.lanes.size,
          budget_bytes: @connection.settings.prefetch_budget_bytes})
      end

      # Starts the lane. An older lane of the same partition that still exists was never revoked: its state is void.
      def take_over(lane)
        old = @connection.lane(lane.key)
        if old
          leave(old, true)
          @committer.forget(old)
          @connection.remove(old)
        end
        @connection.add(lane)
        @waiting << lane if @connection.group.connection && wait_for_others(lane)
      end

      # Where a group has several connections, a partition may move between two of this process, while a unit that outlasted the
      # drain still runs on the old one. The new lane waits for it, as when the partition returns to the same connection.
      #
      # @return [Boolean] whether it still waits
      def wait_for_others(lane)
        return false unless @connection.current?(lane)
        waits = runs_elsewhere?(lane)
        waits ? lane.holds.add(:other_connection) : lane.holds.release(:other_connection)
        waits
      end

      def runs_elsewhere?(lane)
        @connection.pool.running.any? do |_thread, unit|
          other = unit.lane
          !other.equal?(lane) && other.key == lane.key && other.topic.consumer_group_id == lane.topic.consumer_group_id
        end
      end

      def lane(topic_name, partition, epoch)
        topic = @connection.group.topic_for(topic_name) or return unrouted(topic_name)
        source = @connection.driver.lane(topic_name, partition)
        @lanes.call(topic, topic_name, partition, epoch, source).tap { |lane| lane.holds.add(:opening) }
      end

      def unrouted(topic_name)
        error = InternalError.new("#{topic_name} was assigned to #{@connection.group.id}, but no route of it matches")
        @connection.emit("error.occurred", {type: "connection.client.rebalance_callback.error", error: error})
        nil
      end

      # --- revocation

      def partitions_lost
        @partitions_lost = true
        @on_loss&.call
      end

      def begin_revocation(partitions, lost)
        emit("rebalance.partitions_revoke", partitions, lost: lost)
        partitions_lost if lost
        lanes = partitions.filter_map { |key| @connection.lane(key) }
        lanes.each { |lane| leave(lane, lost) }
        @committer.leaving(lanes)
        drain_ms = self.drain_ms
        deadline_ms = @connection.now + drain_ms
        @revocation = Assignment::Revocation.new(lanes, partitions: partitions, lost: lost, deadline_ms: deadline_ms)
        @early_at = deadline_ms - [EARLY_MS, drain_ms / 4].min unless lost
      end

      def leave(lane, lost)
        lost ? lane.end_ownership! : lane.leave!
        @connection.call_back(lane)
      end

      def drain_ms
        return @connection.settings.revocation_drain if @connection.settings.revocation_drain
        return DRAIN_MS[:eager] if @connection.driver.rebalance_protocol == "EAGER"
        Native.patched? ? DRAIN_MS[:cooperative] : DRAIN_MS[:unpatched]
      end

      # @return [Boolean] whether another step may be possible at once
      def step
        commit_early if @early_at && @connection.now >= @early_at
        case @revocation.step(@connection.now, committed: committed?(@revocation.lanes))
        when :hooks then @hooks.run(:revoked, @revocation.lanes)
        when :commit then @committer.request_commit(@revocation.lanes, clean: true)
        when :answer then return finish
        else return false
        end
        true
      end

      # Commits before the end of the drain. Where a unit or a hook outlasts the drain there is no last commit: without this one,
      # records that other units completed or that the unit has marked would run again.
      def commit_early
        @early_at = nil
        @committer.request_commit(@revocation.lanes) unless @revocation.lost?
      end

      def committed?(lanes) = @committer.settled_or_doubtful?(lanes) || @committer.outdated?(lanes)
      def unacknowledged?(lanes) = !@committer.settled_or_doubtful?(lanes) || @committer.outdated?(lanes)

      def finish
        @committer.abandon(@revocation.lanes) if unacknowledged?(@revocation.lanes)
        revocation, @revocation = @revocation, nil
        @early_at = nil
        revocation.unfinished.each { |lane| orphaned_units(lane, revocation) }
        revocation.lanes.each { |lane| release_lane(lane, late: revocation.lost? || !revocation.hooked?) }
        answer
        revocation.lanes.each { |lane| lane.assignment.source.close }
        restore_kept_lanes
        emit("rebalance.partitions_revoked", revocation.partitions, lost: revocation.lost?)
        true
      end

      # @param late [Boolean] whether its hook hasn't run yet
      def release_lane(lane, late:)
        lane.end_ownership!
        @connection.pool.interrupt([lane], Interrupted.new(REVOKED)) if lane.topic.features[:interruptible] && !lane.idle?
        @committer.forget(lane)
        @hooks.run_when_idle(:revoked, lane) if late
        @connection.remove(lane)
      end

      # Continues the remaining lanes: librdkafka may have stopped and rewound them while the answer was pending.
      def restore_kept_lanes
        lanes = @connection.all
        lanes.each { |lane| lane.takes.may_repeat! }
        @connection.driver.touch(sources(lanes)) unless lanes.empty?
      end

      def sources(lanes) = lanes.map { |lane| lane.assignment.source }

      def orphaned_units(lane, revocation)
        return if revocation.lost?
        @connection.pool.running.each do |_thread, unit|
          next unless unit.lane.equal?(lane) && unit.consume?
          @connection.emit("rebalance.unit_left_running", {topic: lane.topic_name, partition: lane.partition,
            first_offset: unit.messages.first_offset, last_offset: unit.messages.last_offset, waited_ms: drain_ms})
        end
      end

      def answer
        error = @connection.driver.answer or return
        raise KafkaError.build(number: error[0], name: ErrorCodes.of(error[0]),
          message: "the group's rebalance could not be answered: #{error[1]}")
      end

      def emit(name, partitions, **more)
        return unless @connection.subscribed?(name)
        group = @connection.group
        @connection.emit(name, {subscription_group: group, subscription_group_id: group.id, consumer_group: group.consumer_group,
          consumer_group_id: group.consumer_group.id, group: group.consumer_group, group_id: group.consumer_group.id,
          client_id: client_id, tpl: partitions, **more})
      end

      # The name is kept, because a closed client has none.
      def client_id = @client_id || @connection.driver.name
    end
  end
end
