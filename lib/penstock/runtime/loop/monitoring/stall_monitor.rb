# frozen_string_literal: true

require_relative "unmarked_records"

module Penstock
  module Runtime
    # Emits an event when something takes unusually long: a unit that runs longer than `max.poll.interval.ms` (Kafka doesn't
    # expel the process for it, so it must be reported here), a lane whose records wait for a worker, a lane that is blocked
    # because records of ended units are not marked or because records that run or are retried fill its window, records that are
    # never marked ({UnmarkedRecords}). Also lets the executor try again to start workers that it couldn't start. Checks once a
    # second while any work is left; runs on the poll loop's thread.
    class StallMonitor
      LOOK_MS = 1_000
      WAITING_MS = 5_000
      BLOCKED_MS = 30_000
      NONE = [].freeze
      private_constant :NONE

      # @param connection [ConnectionState]
      # @param limit_ms [Integer] how long a unit may run
      # @param look_ms [Integer] how often it looks by itself; between, it looks when the loop runs timers of others
      def initialize(connection, limit_ms, look_ms = LOOK_MS)
        @connection = connection
        @limit_ms = limit_ms
        @look_ms = look_ms
        @looked_at = connection.now
        @since = {}.compare_by_identity
        @reported = {}.compare_by_identity
        @window_base = {}.compare_by_identity
        @unmarked = UnmarkedRecords.new(connection)
        @ended = {}.compare_by_identity
      end

      # The user may mark incomplete records at any time, without an event, also when no unit runs: the turns that this timer
      # causes let the committer look for such marks.
      # @return [Integer, nil]
      def next_due
        @looked_at + @look_ms if @connection.active.to_a.any? { |lane| watched?(lane) || !lane.ledger.dry? }
      end

      # Checks, when a check is due.
      def run
        now = @connection.now
        return if now - @looked_at < LOOK_MS
        @looked_at = now
        @connection.pool.start_missing
        running = @connection.pool.running.map(&:last).group_by(&:lane)
        @connection.active.to_a.each { |lane| check(lane, running.fetch(lane, NONE), now) }
        forget(running)
        report_listener
      end

      private

      # Logged and not emitted, because the blocked thread is the one that delivers events.
      def report_listener
        event, place = @connection.reporter.stuck
        return unless event
        @connection.log_aside(4, "a listener of #{event} has blocked the thread that delivers events for over 10 s, at " \
          "#{place}: no event is delivered and nothing is logged until it ends. Do slow work on a thread of your own")
      end

      def watched?(lane) = !lane.idle? || starving?(lane) || (lane.by_key? && !lane.ledger.dry?)

      # Records that wait for their next attempt, for a letter or for a mark don't wait for a worker.
      def starving?(lane) = lane.in_flight.positive? || lane.wanted.positive? || lane.waiting?

      def check(lane, units, now)
        units.each { |unit| check_running(lane, unit, now) }
        units.empty? ? check_waiting(lane, now) : @since.delete(lane)
        check_window(lane, now)
        @unmarked.check(lane, units, now)
      end

      def check_running(lane, unit, now)
        return if now - since(unit, now) < @limit_ms || !unit.consume? || note_reported(unit)
        @connection.emit("consumer.long_running", {topic: lane.topic_name, partition: lane.partition,
          first_offset: unit.messages.first_offset, last_offset: unit.messages.last_offset, waited_ms: now - since(unit, now)})
      end

      # A lane that has records at every check may have been served in between, so that is checked too.
      def check_waiting(lane, now)
        return forget_wait(lane) if note_served(lane) || !starving?(lane) || held?(lane)
        return if now - since(lane, now) < WAITING_MS || note_reported(lane)
        @connection.emit("partition.starved", {topic: lane.topic_name, partition: lane.partition,
          waited_ms: now - since(lane, now)})
      end

      # @return [Boolean] whether it waits for something other than a worker, such as the next run of a partitioner that raised
      def held?(lane) = lane.idle? && !(lane.holds.open? && lane.intake.due.nil?)

      # @return [Boolean] whether a unit of it has ended since the last check
      def note_served(lane)
        before = @ended.fetch(lane, 0)
        @ended[lane] = lane.division.ended_units
        before != lane.division.ended_units
      end

      # Notes since when the first incomplete record is the same.
      def check_window(lane, now)
        reason = block_of(lane) or return forget_wait(lane.marks)
        offset = lane.ledger.base
        forget_wait(lane.marks) unless @window_base[lane] == offset || reason == :throttle
        @window_base[lane] = offset
        return if now - since(lane.marks, now) < BLOCKED_MS || note_reported(lane.marks)
        @connection.emit("partition.window_full", {topic: lane.topic_name, partition: lane.partition, offset: offset,
          count: lane.ledger.incomplete, reason: reason.name, waited_ms: now - since(lane.marks, now)})
      end

      # With manual offsets and parallel keys a record of a unit that has ended keeps filling the window until it is marked.
      # @return [Symbol, nil] why a lane with parallel keys takes no records
      def block_of(lane)
        return unless lane.by_key? && lane.ledger.known?
        lane.division.unmarked?(lane.ledger.base) ? :unmarked : lane.division.full(lane)
      end

      # @param what [Unit, Lane, Marks]
      # @return [Integer] since when it runs, waits or is blocked
      def since(what, now) = @since[what] ||= now

      def forget_wait(what)
        @since.delete(what)
        @reported.delete(what)
      end

      # Forgets units that have ended and lanes that are inactive.
      def forget(running)
        units = running.values.flatten
        lanes = @connection.active.to_a
        @unmarked.keep(lanes)
        known = [*units, *lanes, *lanes.map(&:marks)].each_with_object({}.compare_by_identity) { |each, all| all[each] = true }
        [@since, @reported, @window_base].each { |table| table.delete_if { |what, _value| !known.key?(what) } }
        @ended.delete_if { |lane, _count| !@connection.current?(lane) }
      end

      # @return [Boolean] whether it was reported already; it counts as reported from now on
      def note_reported(what)
        return true if @reported[what]
        @reported[what] = true
        false
      end
    end
  end
end
