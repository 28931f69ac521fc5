# frozen_string_literal: true

module Penstock
  module Runtime
    # Knows whether this connection is a member of its group, for the health page. An assignment proves it. A member to which the
    # group has assigned nothing gets no event under KIP-848, so without an assignment the client is asked, from {JOINED_MS} on.
    #
    # A member that has lost its partitions remains one while brokers are away: it takes part again when they are back. It isn't
    # one if the cluster has also refused its login or a right, until partitions are assigned again.
    #
    # Runs on the poll loop's thread; any thread may call {#member?}.
    class Membership
      # Nearly all members have an assignment by then.
      JOINED_MS = 10_000
      # Interval of asking the client.
      LOOK_MS = 1_000
      private_constant :JOINED_MS, :LOOK_MS

      # @param connection [ConnectionState]
      # @param events [DriverEvents]
      # @param rebalances [Rebalances]
      def initialize(connection, events, rebalances)
        @connection = connection
        @events = events
        @rebalances = rebalances
        @next_due = connection.now + JOINED_MS
        @proved = false
      end

      # @return [Integer, nil] monotonic ms of the next question; nil while there are partitions
      attr_reader :next_due

      # @return [Boolean]
      def member? = assigned? || @proved

      # Asks the client when it is time to.
      def run
        return if @next_due.nil? || @connection.now < @next_due
        asked = @rebalances.lost? || !@connection.epoch.positive?
        @next_due = (@connection.now + LOOK_MS if asked)
        @proved = asked && (joined? || nothing_to_join?)
      end

      # The partitions are lost.
      def watch = @next_due ||= @connection.now + LOOK_MS

      private

      def assigned? = @connection.epoch.positive? && !(@rebalances.lost? && refused?)

      def refused? = @events.refused?

      # The client of a classic group has a member id when the coordinator has answered it, and none after its removal. With
      # KIP-848 it makes the id itself, and has an epoch from the first answered heartbeat on.
      def joined?
        return !@connection.driver.member_id.to_s.empty? unless @connection.group.consumer_protocol?
        @connection.driver.group_metadata&.generation.to_i.positive?
      end

      # The client joins when a topic exists. Partitions that the route names need no group.
      def nothing_to_join?
        return false if refused? || @events.tokenless?
        @connection.group.direct? || @connection.missing.names.any? || patterns?
      end

      def patterns? = @connection.group.active_topics.any?(&:pattern?)
    end
  end
end
