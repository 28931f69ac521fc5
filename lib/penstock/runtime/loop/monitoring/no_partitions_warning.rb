# frozen_string_literal: true

require_relative "../../../instrumentation/repeats"

module Penstock
  module Runtime
    # Emits `group.no_partitions` when a group has had no partition for a while, so that "nothing is consumed" is always
    # reported. It is emitted once, and again each time the wait has doubled, until the first assignment; not while an error
    # that explains the wait was reported recently. Runs on the poll loop's thread.
    class NoPartitionsWarning
      FIRST_MS = 12_000
      # An error that explains the wait is repeated at this interval; this event is emitted only once such an error stops
      # coming.
      EXPLAINED_MS = Instrumentation::Repeats::EVERY_MS + 5_000
      private_constant :EXPLAINED_MS

      # @param connection [ConnectionState]
      # @param events [DriverEvents]
      def initialize(connection, events)
        @connection = connection
        @events = events
        @since = connection.now
        @stall_monitor = FIRST_MS
      end

      # @return [Integer, nil]
      def next_due
        return unless @stall_monitor
        explained = [@events.told_at, @connection.missing.told_at].compact.map { |told_at| told_at + EXPLAINED_MS }
        [@since + @stall_monitor, *explained].max
      end

      # Emits the event when it is due.
      def run
        return unless @stall_monitor
        return @stall_monitor = nil if @connection.epoch.positive?
        now = @connection.now
        return if now < next_due
        tell(now)
        @stall_monitor = 2 * (now - @since)
      end

      private

      def tell(now)
        group = @connection.group
        @connection.emit("group.no_partitions", {subscription_group: group, consumer_group_id: group.consumer_group.id,
          topics: group.active_topics.map(&:name), waited_ms: now - @since, reason: reason})
      end

      def reason
        missing = @connection.missing.names
        return "#{missing.join(", ")} #{(missing.size == 1) ? "doesn't" : "don't"} exist" if missing.any?
        return "the client has no OAuth token: set config.oauth.token_provider_listener" if @events.tokenless?
        return unanswered if @connection.driver.member_id.to_s.empty?
        "other members hold all partitions, or the topics have none"
      end

      # If a broker closes connections without an error, only this shows it.
      def unanswered = @events.diagnosis&.to_s || "the group has not answered: is the broker reachable?"
    end
  end
end
