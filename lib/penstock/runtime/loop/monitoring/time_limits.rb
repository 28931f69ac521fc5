# frozen_string_literal: true

require_relative "../../../errors"

module Penstock
  module Runtime
    # Enforces the `time_limit` of a route on calls of `consume`: reports where a longer call is, raises {TimeLimitExceeded} in
    # it, and, if the call doesn't end within 5 s because it runs in native code, ends the process, so that another member gets
    # its partition.
    #
    # Watches all running units, also those of lanes revoked meanwhile; a unit's time counts from when it was first seen
    # running, so a limit is accurate to a tenth, or to a second. Runs on the poll loop's thread.
    class TimeLimits
      GRACE_MS = 5_000
      LOOK_MS = (20..1_000)
      private_constant :LOOK_MS

      # State of a running unit: since when it runs, when the error was raised in it, and whether it was abandoned.
      Watched = Struct.new(:since, :raised_at, :abandoned)
      private_constant :Watched

      # @param connection [ConnectionState]
      # @param stop [#call] ends the process, by force when called with a {TimeLimitExceeded}
      def initialize(connection, stop)
        @connection = connection
        @stop = stop
        @shortest = connection.group.topics.filter_map { |topic| topic.features[:time_limit] }.min
        @looked_at = connection.now
        @watched = {}.compare_by_identity
      end

      # @return [Integer, nil] monotonic ms; nil while no unit with a limit runs
      def next_due = (@looked_at + look_ms if @shortest && (@watched.any? || busy?))

      # Checks, when a check is due.
      def run
        return unless @shortest && @connection.now - @looked_at >= look_ms
        @looked_at = @connection.now
        running = @connection.pool.running.select { |_thread, unit| limited?(unit) }
        units = running.to_h { |_thread, unit| [unit, true] }.compare_by_identity
        @watched.delete_if { |unit, _watched| !units.key?(unit) }
        running.each { |thread, unit| check(thread, unit) }
      end

      private

      def look_ms = (@shortest / 10).clamp(LOOK_MS.begin, LOOK_MS.end)

      def busy? = @connection.orphaned_units.any? || @connection.active.to_a.any? { |lane| !lane.idle? && limit(lane) }

      def limit(lane) = lane.topic.features[:time_limit]

      def limited?(unit)
        lane = unit.lane
        unit.consume? && limit(lane) && (@connection.current?(lane) || @connection.orphaned_units.value?(lane))
      end

      def check(thread, unit)
        watched = @watched[unit] ||= Watched.new(@connection.now)
        return stop_process(unit, watched) if watched.raised_at
        stop(thread, unit, watched) if @connection.now - watched.since >= limit(unit.lane)
      end

      def stop(thread, unit, watched)
        watched.raised_at = @connection.now
        @connection.emit("consumer.time_limit", {**place(unit), limit: limit(unit.lane),
          waited_ms: @connection.now - watched.since, backtrace: thread&.backtrace || []})
        @connection.pool.interrupt([unit], exceeded(unit))
      end

      def stop_process(unit, watched)
        return if watched.abandoned || @connection.now - watched.raised_at < GRACE_MS
        watched.abandoned = true
        @stop.call(exceeded(unit))
      end

      def exceeded(unit) = TimeLimitExceeded.new(limit_ms: limit(unit.lane), **place(unit))

      def place(unit)
        {topic: unit.topic_name, partition: unit.lane.partition, first_offset: unit.messages.first_offset,
         last_offset: unit.messages.last_offset}
      end
    end
  end
end
