# frozen_string_literal: true

require_relative "../missing_topics"
require_relative "active_lanes"

module Penstock
  module Runtime
    # Holds the state of one open connection of a subscription group: the driver, the lanes we own, units of revoked lanes that
    # still run. Lives on the poll loop's thread, from opening a connection until it is closed.
    class ConnectionState
      # How often the wall clock is read.
      WALL_CLOCK_MS = 500
      private_constant :WALL_CLOCK_MS

      attr_reader :group, :driver, :lanes, :clock, :reporter, :mailbox, :queue, :pool, :settings
      attr_reader :epoch, :orphaned_units

      # @return [MissingTopics]
      attr_reader :missing

      # @return [ActiveLanes] the lanes that may have something to do
      attr_reader :active

      # @return [Boolean] whether records may be taken and units handed out
      attr_accessor :feeding

      # @param group [Routing::SubscriptionGroup]
      # @param driver [Native::Consumer]
      # @param orphaned_units [OrphanedUnits] lanes of earlier connections whose units still run
      def initialize(group:, driver:, process:, mailbox:, orphaned_units:)
        @group = group
        @driver = driver
        @clock = process.clock
        @reporter = process.reporter
        @queue = process.queue
        @pool = process.pool
        @settings = process.settings
        @missing = MissingTopics.new(group, process.reporter, process.clock)
        @mailbox = mailbox
        @process = process
        @lanes = {}
        @by_source = {}
        @current = {}.compare_by_identity
        @active = ActiveLanes.new(@current)
        @epoch = 0
        @orphaned_units = orphaned_units
        @feeding = true
        @assigned = false
        @wall_clock_at = 0
      end

      # @return [Boolean] whether it has ever had a partition
      def assigned? = @assigned

      def now = @clock.monotonic_ms

      # A turn begins. The wall clock is read from time to time, so that a jump is noticed while there are no records.
      # @return [Integer] monotonic ms
      def read_clocks
        now = @clock.monotonic_ms
        return now if now < @wall_clock_at

        @wall_clock_at = now + WALL_CLOCK_MS
        @process.cautious_clock.read(now, @clock.wall_ms)
        now
      end

      def next_epoch = @epoch += 1
      def lane(key) = @lanes[key]
      def all = @lanes.values

      # @param lane [Processing::Lane]
      def add(lane)
        @assigned = true
        @orphaned_units.hold(lane)
        @by_source[lane.assignment.source.id] = lane
        drop(@lanes[lane.key]) if @lanes.key?(lane.key)
        @current[lane] = true
        @active.add(lane)
        @lanes[lane.key] = lane
      end

      # The lane is no longer ours; its unit may still run.
      # @return [Boolean] whether it does
      def remove(lane)
        @lanes.delete(lane.key) if drop(lane)
        @by_source.delete(lane.assignment.source.id) if @by_source[lane.assignment.source.id].equal?(lane)
        return false if lane.idle?
        @orphaned_units.add(lane)
        true
      end

      # Whether this lane belongs to this connection and wasn't replaced or revoked.
      def current?(lane) = @current.key?(lane)

      # @param id [Integer] of a driver's lane
      # @return [Processing::Lane, nil]
      def by_source(id) = @by_source[id]

      # Ends the holds of lanes and keys whose time has passed.
      def run
        @active.to_a.each do |lane|
          lane.recording&.expired(now) if over?(lane)
          lane.holds.expire(now) unless lane.holds.open?
          lane.intake.expire(now)
          lane.division.expire(now)
        end
      end

      # @return [Integer, nil] when the next hold of a lane or a key ends by itself
      def next_due
        soonest = nil
        @active.to_a.each do |lane|
          due = hold_due(lane)
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # @param level [Integer] syslog level
      # @param line [String]
      def log(level, line) = @process.log(level, line)

      # Logs on a thread of its own: a listener may be blocked in the logger, and the loop must not wait for it.
      # @param level [Integer] syslog level
      # @param line [String]
      def log_aside(level, line)
        @process.threads.start("penstock warning") { log(level, line) }
      rescue ThreadError
        nil # no thread can be started now
      end

      # @param json [String] statistics as the driver emits them
      # @return [Hash]
      def decorate(json, &correct) = @process.decorate(@group, json, &correct)

      # Calls back the units that were handed out and have not started.
      # @param unstall [Boolean] see {Execution::RunQueue#withdraw}
      def call_back(lane, unstall: false)
        assignment = lane.assignment
        units = @queue.withdraw(assignment.slot, unstall: unstall)
        lane.recording&.called_back(units)
        units.concat(lane.suspects.take_held) if lane.suspects
        lane.put_back(units)
        lane.put_back(@queue.withdraw(assignment.prepare_slot)) if assignment.prepare_slot
      end

      # Called when user code that decides about the lane's records failed, or was interrupted: it may run again, but a stall of
      # the lane's other units stays.
      def call_back_preparing(lane)
        call_back(lane)
        lane.put_back(@queue.withdraw(lane.assignment.prepare_slot, unstall: true))
      end

      # @param name [String] event; an error gets the ids of the group
      # @param payload [Hash]
      def emit(name, payload)
        payload = {**@group.ids, **payload} if name == "error.occurred"
        @reporter.emit(name, payload)
      end

      def subscribed?(name) = @reporter.subscribed?(name)

      private

      # @return [true, nil] whether it was current
      def drop(lane)
        @active.remove(lane)
        @current.delete(lane)
      end

      # The back-off of a key may end while its lane is held.
      def over?(lane)
        keys = lane.division.next_due
        return true if keys && keys <= now
        due = lane.holds.next_due unless lane.holds.open?
        !due.nil? && due <= now
      end

      # While a breaker is open, a record to probe with may be needed: delays in its lanes still end on time.
      def hold_due(lane)
        return lane.holds.next_due unless lane.holds.open? || lane.holds.only?(:breaker)
        keys = lane.division.next_due
        intake = lane.intake.due
        (keys && intake) ? [keys, intake].min : keys || intake
      end
    end
  end
end
