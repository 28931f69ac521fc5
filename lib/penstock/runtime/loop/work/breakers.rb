# frozen_string_literal: true

module Penstock
  module Runtime
    # Applies the decisions of the topics' breakers to the lanes of one connection: while a breaker is open, its lanes are held,
    # and one record at a time, across all connections, runs as a probe. Runs on the poll loop's thread, after a turn's outcomes
    # are settled and before records are handed out. Ends with the connection ({#close}); the breakers outlive it.
    class Breakers
      # A breaker, and the lane of this connection on which its probe runs.
      Entry = Struct.new(:breaker, :lane)
      # Expired records that a run drops at most.
      MOST_DROPPED = 100
      private_constant :Entry, :MOST_DROPPED

      # @param connection [ConnectionState]
      # @param hand_out [#call] pushes a unit of a lane to the run queue; false: its record has expired, and was dropped
      def initialize(connection, hand_out)
        @connection = connection
        @hand_out = hand_out
        @entries = {}.compare_by_identity
      end

      # @param breaker [SharedBreaker]
      def add(breaker)
        @entries[breaker] ||= Entry.new(breaker, nil)
        breaker.watch(@connection.mailbox)
      end

      # @return [Integer, nil] monotonic ms of the next run: now, where the holds of the lanes don't match the breaker's state;
      #   an overdue probe waits for a record, not for a time
      def next_due
        soonest = nil
        @entries.each_value do |entry|
          due = due_of(entry)
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # Holds, releases and probes lanes as their breakers require, and emits the breakers' events.
      def run
        @entries.each_value do |entry|
          breaker = entry.breaker
          breaker.expire(@connection.now) unless breaker.closed?
          breaker.closed? ? release(entry) : hold(entry)
          while (event, payload = breaker.take_event)
            @connection.emit(event, payload)
          end
        end
      end

      # The connection ends. Connections that may probe next must not wait for a probe of this one.
      def close
        @entries.each_value do |entry|
          entry.breaker.unwatch(@connection.mailbox)
          lost(entry) if entry.lane
        end
      end

      private

      def due_of(entry)
        breaker = entry.breaker
        return (@connection.now if breaker.events? || entry.lane || held?(breaker)) if breaker.closed?
        lanes = lanes(breaker)
        return @connection.now if probe_ended?(entry) || lanes.any? { |lane| !lane.holds.include?(:breaker) }
        [breaker.ends_at, probe_due(breaker, lanes)].compact.min
      end

      def probe_due(breaker, lanes)
        return unless breaker.state == :open
        due = breaker.probe_at(fresh: lanes.any? { |lane| lane.probing.possible? && lane.probing.fresh_record? }) or return
        (due > @connection.now || lanes.any? { |lane| lane.probing.possible? }) ? due : nil
      end

      def held?(breaker)
        @connection.active.to_a.any? { |lane| lane.breaker.equal?(breaker) && lane.holds.include?(:breaker) && lane.owned? }
      end

      # Releases the lanes. A probe that still runs is treated like any other unit from here on.
      def release(entry)
        entry.lane = nil
        lanes(entry.breaker).each { |lane| lane.probing.release }
      end

      # Holds the lanes, including those assigned since the breaker opened, and sends the probe when it is due.
      def hold(entry)
        lanes = lanes(entry.breaker)
        lanes.each { |lane| hold_lane(lane) unless lane.holds.include?(:breaker) }
        lost(entry) if probe_ended?(entry)
        probe(entry, lanes)
      end

      # Units that were handed out and have not started are called back.
      def hold_lane(lane)
        lane.holds.add(:breaker)
        @connection.active.add(lane)
        @connection.call_back(lane)
      end

      # Called when the probe's outcome has been settled, or when there will be none. If the breaker has the outcome already, this
      # changes nothing.
      def lost(entry)
        entry.lane = nil
        entry.breaker.probe_lost
      end

      # Whether the probe of this connection has ended.
      def probe_ended?(entry)
        lane = entry.lane or return false
        !(lane.probing.out? && @connection.current?(lane))
      end

      # Claims the probe, and hands out the first record that hasn't expired.
      def probe(entry, lanes)
        ready, fresh = ready(lanes)
        return if ready.empty? || !entry.breaker.probe(@connection.now, fresh: fresh)
        MOST_DROPPED.times do
          entry.lane = lane = next_lane(ready)
          return if @hand_out.call(lane, lane.probe)
          ready, = ready(lanes)
          break if ready.empty?
        end
        lost(entry)
      end

      # @return [Array(Array<Processing::Lane>, Boolean)] lanes with a record that has never run, or else all with a record to
      #   try; whether they are the former
      def ready(lanes)
        ready = lanes.select { |lane| lane.probing.possible? }
        fresh = ready.select { |lane| lane.probing.fresh_record? }
        fresh.any? ? [fresh, true] : [ready, false]
      end

      # The lanes take turns.
      # @return [Processing::Lane] the one after the last that had a probe
      def next_lane(lanes)
        lanes = lanes.sort_by(&:key)
        lane = lanes.find { |one| @last && (one.key <=> @last).positive? } || lanes.first
        @last = lane.key
        lane
      end

      def lanes(breaker) = @connection.all.select { |lane| lane.breaker.equal?(breaker) && lane.owned? }
    end
  end
end
