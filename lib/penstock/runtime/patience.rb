# frozen_string_literal: true

module Penstock
  module Runtime
    # Says so when something takes unusually long: a unit longer than `max.poll.interval.ms` (nothing evicts the process for
    # it, so somebody must say it), a lane whose records wait for a worker. Looks once a second while units run or wait; runs
    # on the poll loop's thread.
    class Patience
      LOOK_MS = 1_000
      WAITING_MS = 5_000

      # @param session [Session]
      # @param limit_ms [Integer] what a unit may take
      def initialize(session, limit_ms)
        @session = session
        @limit_ms = limit_ms
        @looked_at = session.now
        @since = {}
        @told = {}
      end

      # @return [Integer, nil]
      def next_due = (@session.lanes.any? { |_key, lane| watched?(lane) }) ? @looked_at + LOOK_MS : nil

      # Looks, when it is time.
      def run
        now = @session.now
        return if now - @looked_at < LOOK_MS
        @looked_at = now
        running = @session.pool.running.to_h { |_thread, unit| [unit.lane, unit] }
        @session.all.each { |lane| running.key?(lane) ? works(lane, running[lane], now) : waits(lane, now) }
        @since.delete_if { |lane, _since| !@session.current?(lane) }
      end

      private

      def watched?(lane) = !lane.idle? || lane.wanted.positive? || lane.waiting?

      def works(lane, unit, now)
        since = remember(lane, unit, now)
        return if now - since < @limit_ms || !unit.consume? || told?(lane, unit)
        @session.emit("consumer.long_running", {topic: lane.topic_name, partition: lane.partition,
          first_offset: unit.messages.first_offset, last_offset: unit.messages.last_offset, waited_ms: now - since})
      end

      def waits(lane, now)
        return @since.delete(lane) unless watched?(lane)
        since = remember(lane, :waiting, now)
        return if now - since < WAITING_MS || told?(lane, :waiting)
        @session.emit("lane.waiting", {topic: lane.topic_name, partition: lane.partition, waited_ms: now - since})
      end

      # @return [Integer] since when the lane is in this state
      def remember(lane, state, now)
        known, since = @since[lane]
        return since if known.equal?(state)
        @told.delete(lane)
        @since[lane] = [state, now]
        now
      end

      # @return [Boolean] whether it was said already; it is now
      def told?(lane, state)
        return true if @told[lane].equal?(state)
        @told[lane] = state
        false
      end
    end
  end
end
