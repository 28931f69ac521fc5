# frozen_string_literal: true

require_relative "../config/kafka_map"

module Penstock
  module Routing
    # The properties of librdkafka for which Penstock has defaults of its own, as rows of a table: from the code that sets them,
    # each with librdkafka's value and the reason. A default without a reason is an error.
    module KafkaDefaults
      MAP = Config::KafkaMap
      SOURCES = {
        "all" => MAP::SHARED, "consumers" => MAP::CONSUMER.merge(MAP::CLASSIC_GROUP,
          "heartbeat.interval.ms" => MAP::HEARTBEAT_INTERVAL.to_s), "producers" => MAP::PRODUCER
      }.freeze
      # Values without a choice, and names of the client.
      UNLISTED = %w[client.software.name client.software.version enable.partition.eof coordinator.query.interval.ms].freeze
      # Of the others: librdkafka's value, and why Penstock's differs, or why it has one.
      REASONS = {
        "socket.timeout.ms" => ["60000", "a frozen broker is noticed sooner"],
        "topic.metadata.refresh.interval.ms" => ["300000", "new topics and moved partitions are noticed; 5000 outside " \
          "production, 300000 for consumers of patterns in production"],
        "reconnect.backoff.max.ms" => ["10000", "a broker that returns is used within a second, as by Kafka's own clients"],
        "socket.nagle.disable" => ["true", "requests are not held back"],
        "statistics.interval.ms" => ["0", "for `statistics.emitted`, lag and insights; 0 without a listener or insights"],
        "max.poll.interval.ms" => ["300000", "limits only the time that a rebalance waits for this member: calls may take " \
          "longer"],
        "auto.commit.interval.ms" => ["5000", "a crash repeats at most that much"],
        "fetch.queue.backoff.ms" => ["1000", "a partition whose queue was full is fetched again at once"],
        "fetch.wait.max.ms" => ["500", "the cost of an idle client; a record that comes ends the wait"],
        "partition.assignment.strategy" => ["range,roundrobin", "partitions that stay are not stopped by a rebalance"],
        "heartbeat.interval.ms" => ["3000", "a member learns of a rebalance by its heartbeat, so a moving partition is idle " \
          "for about one second instead of three"],
        "message.timeout.ms" => ["300000", "the outcome is known before `max_wait_timeout` (180 s) ends a wait"],
        "transaction.timeout.ms" => ["60000", "it must not be below `message.timeout.ms`"]
      }.freeze
      private_constant :MAP, :SOURCES, :UNLISTED, :REASONS

      # @return [Array<String>] rows in Markdown
      def self.rows
        SOURCES.flat_map do |clients, properties|
          properties.except(*UNLISTED).map do |name, value|
            theirs, reason = REASONS.fetch(name)
            "| `#{name}` | #{clients} | `#{value}` | `#{theirs}` | #{reason} |"
          end
        end
      end
    end
  end
end
