# frozen_string_literal: true

module Penstock
  module Runtime
    # Makes so what the topics' breakers say: while one is open its lanes are held, and one record at a time is sent to try.
    # Runs on the poll loop's thread, behind the outcomes of a turn and before records are handed out.
    class Breakers
      # A topic's breaker, and the lane its probe runs on.
      Entry = Struct.new(:breaker, :probing, :held)
      private_constant :Entry

      # @param session [Session]
      # @param hand_out [#call] gives a unit of a lane to the run queue
      def initialize(session, hand_out)
        @session = session
        @hand_out = hand_out
        @entries = {}.compare_by_identity
      end

      # @param topic [Routing::Topic]
      # @param breaker [Processing::Failure::Breaker]
      def add(topic, breaker) = @entries[topic] = Entry.new(breaker, nil, false)

      # @return [Integer, nil] monotonic ms at which to be run again: now, where the lanes aren't as the breaker says; an overdue
      #   probe waits for a record, not for a time
      def next_due
        soonest = nil
        @entries.each do |topic, entry|
          next if entry.breaker.closed? && !held?(topic, entry)
          due = due_of(topic, entry)
          soonest = due if due && (soonest.nil? || due < soonest)
        end
        soonest
      end

      # Goes on as far as it can.
      def run
        @entries.each { |topic, entry| entry.breaker.closed? ? let_go(topic, entry) : hold(topic, entry) }
      end

      private

      def due_of(topic, entry)
        now = @session.now
        return now if entry.breaker.closed?
        lanes = lanes(topic)
        return now if !entry.held || over?(entry) || lanes.any? { |lane| !lane.holds.include?(:breaker) }
        return unless entry.breaker.state == :open

        due = entry.breaker.due
        (due > now || lanes.any?(&:probe?)) ? due : nil
      end

      def let_go(topic, entry)
        return unless held?(topic, entry)
        entry.held = false
        entry.probing = nil
        lanes(topic).each { |lane| lane.holds.release(:breaker) }
        @session.emit("breaker.closed", {topic: topic.name})
      end

      # One that opens and closes within a turn has held the lane that told of it.
      def held?(topic, entry)
        entry.held ||
          @session.lanes.any? { |_key, lane| lane.holds.include?(:breaker) && lane.topic.equal?(topic) && lane.owned? }
      end

      # Lanes that came meanwhile are held too.
      def hold(topic, entry)
        entry.held = true
        lanes = lanes(topic)
        lanes.each { |lane| close(lane) unless lane.holds.include?(:breaker) }
        look_after(entry)
        probe(entry, lanes)
      end

      # What was handed out and has not started comes back.
      def close(lane)
        lane.holds.add(:breaker)
        @session.call_back(lane)
      end

      # Its outcome has been settled by now; if that told the breaker nothing, there was none.
      def look_after(entry)
        return unless over?(entry)
        entry.probing = nil
        entry.breaker.probe_lost
      end

      # Whether the probe isn't under way any more.
      def over?(entry) = entry.probing && (entry.probing.idle? || !@session.current?(entry.probing))

      def probe(entry, lanes)
        ready = lanes.select(&:probe?).sort_by(&:key)
        key = entry.breaker.probe(ready.map(&:key), @session.now) or return
        lane = @session.lane(key)
        entry.probing = lane
        unit = lane.probe
        lane.recording&.probed
        lane.recording&.unit(unit)
        @hand_out.call(lane, unit)
      end

      def lanes(topic) = @session.all.select { |lane| lane.topic.equal?(topic) && lane.owned? }
    end
  end
end
