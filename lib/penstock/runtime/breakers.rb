# frozen_string_literal: true

module Penstock
  module Runtime
    # Makes so what the topics' breakers decide, for the lanes of one connection: while a breaker is open they are held, and one
    # record at a time is sent to try, of whichever connection. Runs on the poll loop's thread, after the outcomes of a turn and
    # before records are handed out. Ends with the connection ({#close}); the breakers live on.
    class Breakers
      # A breaker, and the lane of this connection on which its probe runs.
      Entry = Struct.new(:breaker, :probing)
      private_constant :Entry

      # @param session [Session]
      # @param hand_out [#call] gives a unit of a lane to the run queue
      def initialize(session, hand_out)
        @session = session
        @hand_out = hand_out
        @entries = {}.compare_by_identity
      end

      # @param breaker [SharedBreaker]
      def add(breaker)
        @entries[breaker] ||= Entry.new(breaker, nil)
        breaker.watch(@session.mailbox)
      end

      # @return [Integer, nil] monotonic ms at which to be run again: now, where the lanes aren't as the breaker says; an overdue
      #   probe waits for a record, not for a time
      def next_due
        soonest = nil
        @entries.each_value do |entry|
          due = due_of(entry)
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # Goes on as far as it can.
      def run
        @entries.each_value do |entry|
          breaker = entry.breaker
          breaker.expire(@session.now) unless breaker.closed?
          breaker.closed? ? let_go(entry) : hold(entry)
          while (event, payload = breaker.take_news)
            @session.emit(event, payload)
          end
        end
      end

      # The connection ends: who probes elsewhere must not wait for a probe of this one.
      def close
        @entries.each_value do |entry|
          entry.breaker.unwatch(@session.mailbox)
          lost(entry) if entry.probing
        end
      end

      private

      def due_of(entry)
        breaker = entry.breaker
        return (@session.now if breaker.news? || entry.probing || held?(breaker)) if breaker.closed?
        lanes = lanes(breaker)
        return @session.now if over?(entry) || lanes.any? { |lane| !lane.holds.include?(:breaker) }
        [breaker.ends_at, probe_due(breaker, lanes)].compact.min
      end

      def probe_due(breaker, lanes)
        return unless breaker.state == :open
        due = breaker.probe_at(fresh: lanes.any? { |lane| lane.probe? && lane.fresh_record? }) or return
        (due > @session.now || lanes.any?(&:probe?)) ? due : nil
      end

      def held?(breaker)
        @session.lanes.any? { |_key, lane| lane.breaker.equal?(breaker) && lane.holds.include?(:breaker) && lane.owned? }
      end

      # A probe that still runs is a unit like any other from here on.
      def let_go(entry)
        entry.probing = nil
        lanes(entry.breaker).each(&:release_breaker)
      end

      # Lanes that came meanwhile are held too.
      def hold(entry)
        lanes = lanes(entry.breaker)
        lanes.each { |lane| close_lane(lane) unless lane.holds.include?(:breaker) }
        lost(entry) if over?(entry)
        probe(entry, lanes)
      end

      # What was handed out and has not started comes back.
      def close_lane(lane)
        lane.holds.add(:breaker)
        @session.call_back(lane)
      end

      # The probe's outcome has been settled, or there will be none; if it told the breaker something that changes nothing.
      def lost(entry)
        entry.probing = nil
        entry.breaker.probe_lost
      end

      # Whether the probe isn't under way any more.
      def over?(entry) = entry.probing && !(entry.probing.probing? && @session.current?(entry.probing))

      # One after another; those with a fresh record first.
      def probe(entry, lanes)
        ready = lanes.select(&:probe?)
        return if ready.empty?
        fresh = ready.select(&:fresh_record?)
        return unless entry.breaker.probe(@session.now, fresh: fresh.any?)
        entry.probing = lane = next_lane(fresh.any? ? fresh : ready)
        unit = lane.probe
        lane.recording&.probed
        lane.recording&.unit(unit)
        @hand_out.call(lane, unit)
      end

      # @return [Processing::Lane] the one after the last that had a probe
      def next_lane(lanes)
        lanes = lanes.sort_by(&:key)
        lane = lanes.find { |one| @last && (one.key <=> @last).positive? } || lanes.first
        @last = lane.key
        lane
      end

      def lanes(breaker) = @session.all.select { |lane| lane.breaker.equal?(breaker) && lane.owned? }
    end
  end
end
