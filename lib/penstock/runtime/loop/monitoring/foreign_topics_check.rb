# frozen_string_literal: true

module Penstock
  module Runtime
    # Emits `group.foreign_topics` when a member of the group has partitions of topics that no route of this application's
    # consumer group names: two applications share a group by mistake. The application that joins last sees it, some time after
    # its first assignment; after later assignments the group is examined at most once an hour, and the same topics are
    # reported once.
    #
    # Runs on the poll loop's thread; the answer is evaluated on the query's.
    class ForeignTopicsCheck
      SETTLED_MS = 30_000
      EVERY_MS = 3_600_000
      EVENT = "group.foreign_topics"
      private_constant :EVENT

      # @param connection [ConnectionState]
      # @param query [GroupQuery]
      def initialize(connection, query)
        @connection = connection
        @query = query
        @wanted = !connection.group.direct? && connection.group.connection.to_i.zero?
        @epoch = 0
        @due = @asked_at = nil
        @reported = []
      end

      # @return [Integer, nil]
      def next_due
        return unless @wanted
        (@epoch == @connection.epoch) ? @due : 0
      end

      # Asks for the group's members when the group has settled.
      def run
        return unless @wanted
        now = @connection.now
        return assigned(now) unless @epoch == @connection.epoch
        return if @due.nil? || now < @due
        @due = nil
        @asked_at = now
        ask if @connection.subscribed?(EVENT)
      end

      private

      def assigned(now)
        @epoch = @connection.epoch
        @due = [now + SETTLED_MS, (@asked_at + EVERY_MS if @asked_at)].compact.max
      end

      def ask
        @query.ask { |description, _error| examine(description[:members]) if description }
      end

      def examine(members)
        found = members.to_h { |member| [member, foreign(member)] }.reject { |_member, topics| topics.empty? }
        topics = found.values.flatten.uniq.sort
        return if (topics - @reported).empty?
        @reported = topics
        group = @connection.group
        @connection.emit(EVENT, {subscription_group: group, consumer_group_id: group.consumer_group_id, topics: topics,
          members: found.keys.map { |member| "#{member[:client_id]} on #{member[:host]}" }.uniq})
      end

      # @return [Array<String>] names of topics
      def foreign(member)
        groups = @connection.group.consumer_group.all_subscription_groups
        member[:partitions].to_a.map(&:first).uniq.reject { |topic| groups.any? { |group| group.routes?(topic) } }
      end
    end
  end
end
