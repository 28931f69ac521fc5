# frozen_string_literal: true

module Penstock
  module Runtime
    # Says so when a group has had no partition for a while: "nothing is consumed" never happens in silence. Told once, and again
    # each time the wait has doubled, until the first assignment. Runs on the poll loop's thread.
    class Waiting
      FIRST_MS = 10_000

      # @param session [Session]
      def initialize(session)
        @session = session
        @since = session.now
        @patience = FIRST_MS
      end

      # @return [Integer, nil]
      def next_due = @patience && (@since + @patience)

      # Tells when it is time.
      def run
        return unless @patience
        return @patience = nil if @session.epoch.positive?
        now = @session.now
        return if now < next_due
        tell(now)
        @patience *= 2
      end

      private

      def tell(now)
        group = @session.group
        @session.emit("connection.waiting", {subscription_group: group, consumer_group_id: group.consumer_group.id,
          topics: group.active_topics.map(&:name), waited_ms: now - @since, reason: reason})
      end

      def reason
        member = @session.driver.member_id.to_s
        return "the group has not answered: is the broker reachable, do the topics exist?" if member.empty?
        "other members hold all partitions, or the topics have none"
      end
    end
  end
end
