# frozen_string_literal: true

require_relative "../../../instrumentation/kafka_hints"
require_relative "../../../instrumentation/repeats"
require_relative "no_partitions_reason"

module Penstock
  module Runtime
    # Emits `group.no_partitions` when a group has had no partition for a while, so that "nothing is consumed" is always reported.
    # It is emitted once, and again each time the wait has doubled, until the first partition is assigned; not while an error that
    # explains the wait is being reported, and only once where the group has assigned this member no partitions. One of several
    # connections to which nothing was assigned isn't reported: the others may hold the partitions.
    #
    # Runs on the poll loop's thread. Another thread asks the cluster for the group's members and then emits the event.
    class NoPartitionsWarning
      FIRST_MS = 12_000
      # An error that explains the wait is repeated at this interval; this event is emitted only once such an error stops
      # coming.
      EXPLAINED_MS = Instrumentation::Repeats::EVERY_MS + 5_000
      EVENT = "group.no_partitions"
      OLD_BROKER = ". If the broker is older than Kafka 4.0, remove group.protocol: consumer"
      NO_LISTENER = "the client has no OAuth token: set config.oauth.token_provider_listener"
      NO_TOKEN = "the client has no OAuth token: the listener in config.oauth.token_provider_listener has set none, and " \
                 "reported no failure. It must call event[:bearer].oauthbearer_set_token, or oauthbearer_set_token_failure"
      private_constant :EXPLAINED_MS, :EVENT, :OLD_BROKER, :NO_LISTENER, :NO_TOKEN

      # @param connection [ConnectionState]
      # @param events [DriverEvents]
      # @param query [GroupQuery]
      # @param limits [Hash{Symbol => Integer, nil}] `:session_ms` and `:rebalance_ms`, see {NoPartitionsReason::Facts}
      # @param token_listener [Boolean] whether the application has set a listener for OAuth tokens
      def initialize(connection, events, query, limits, token_listener: false)
        @connection = connection
        @events = events
        @query = query
        @limits = limits
        @token_listener = token_listener
        @since = connection.now
        @wait_ms = FIRST_MS
      end

      # @return [Integer, nil]
      def next_due
        return unless @wait_ms
        explained = [@events.reported_at, @connection.missing.reported_at].compact.map { |time| time + EXPLAINED_MS }
        [@since + @wait_ms, *explained].max
      end

      # Emits the event when it is due.
      def run
        return unless @wait_ms
        return @wait_ms = nil if @connection.assigned? || spare? || !@connection.subscribed?(EVENT)
        now = @connection.now
        return if now < next_due
        report(now - @since)
        @wait_ms = (2 * (now - @since) unless @connection.epoch.positive?)
      end

      private

      def spare? = @connection.epoch.positive? && !@connection.group.connection.nil?

      def report(waited_ms)
        refusal = @events.refusal
        known = known_reason
        return emit_event(waited_ms, known) if known && !refusal
        facts = self.facts
        @query.ask do |description, error|
          reason = (refused(refusal) if refusal && !member?(facts, description)) || known || unanswered(facts, description) ||
            NoPartitionsReason.new(facts, description, error)
          emit_event(waited_ms, reason.to_s)
        end
      end

      # The right may have been granted since.
      def member?(facts, description) = description&.dig(:members).to_a.any? { |member| member[:id] == facts.member_id }

      def refused(error) = "the cluster refused it: #{[error.message, Instrumentation::KafkaHints.of(error)].compact.join(". ")}"

      def emit_event(waited_ms, reason)
        group = @connection.group
        @connection.emit(EVENT, {subscription_group: group, consumer_group_id: group.consumer_group_id,
          topics: group.active_topics.map(&:name), waited_ms: waited_ms, reason: reason})
      end

      def known_reason
        missing = @connection.missing.names
        return missing(missing) if missing.any?
        return @token_listener ? NO_TOKEN : NO_LISTENER if @events.tokenless?
        return "none of the partitions that the route names by assign exists: they are read as soon as they exist" if
          @connection.group.direct?
        @events.failed_connection&.to_s if @connection.driver.member_id.to_s.empty?
      end

      def missing(names)
        one = names.size == 1
        "#{names.join(", ")} #{one ? "doesn't exist, or this user may not see it. It is" : "don't exist, or this user may not " \
          "see them. They are"} consumed a few seconds after #{one ? "it exists" : "they exist"}: `penstock topics create` " \
          "creates a topic"
      end

      # The only report of a broker that closes connections without an error.
      def unanswered(facts, description)
        return if description || !facts.member_id.empty?
        "the group's coordinator has not answered: is the broker reachable? It is asked again until it answers; " \
          "`penstock doctor --connect` tries each step of the connection#{OLD_BROKER unless facts.session_ms}"
      end

      def facts
        group = @connection.group
        NoPartitionsReason::Facts.new(topics: group.active_topics.map(&:name), covers: group.method(:subscribes_to?),
          member_id: @connection.driver.member_id.to_s, **@limits)
      end
    end
  end
end
