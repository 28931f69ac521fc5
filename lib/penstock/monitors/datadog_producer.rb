# frozen_string_literal: true

require_relative "../errors"

module Penstock
  # Listeners that export a process's metrics to monitoring systems. Loaded by the programs that use them.
  module Monitors
    # Sends metrics of a producer to Datadog, or any other client with DogStatsD's methods; named as Karafka's are.
    #
    #     require "penstock/monitors/datadog_producer"
    #     statsd = Datadog::Statsd.new("localhost", 8125)
    #     listener = Penstock::Monitors::DatadogProducer.new(client: statsd, default_tags: ["env:live"])
    #     producer.monitor.subscribe(listener)   # before its first message, or there are no statistics
    #
    # Called on the publishing threads, so the client must not block: Datadog's sends by UDP. One client may serve
    # several producers; give each its own tags.
    class DatadogProducer
      # A metric from the client's statistics: its type, its scope (`:root`, or `:brokers`, one per broker), its name,
      # and the keys that lead to the value.
      Metric = Struct.new(:type, :scope, :name, :keys)

      METRICS = [
        Metric.new(:count, :root, "calls", %w[tx_d]),
        Metric.new(:histogram, :root, "queue.size", %w[msg_cnt]),
        Metric.new(:count, :brokers, "deliver.attempts", %w[txretries_d]),
        Metric.new(:count, :brokers, "deliver.errors", %w[txerrs_d]),
        Metric.new(:count, :brokers, "receive.errors", %w[rxerrs_d]),
        *%w[avg p95 p99].flat_map do |part|
          [Metric.new(:gauge, :brokers, "queue.latency.#{part}", ["outbuf_latency", part]),
            Metric.new(:gauge, :brokers, "network.latency.#{part}", ["rtt", part])]
        end
      ].freeze

      # librdkafka's node id before it knows a broker.
      UNKNOWN_BROKER = -1

      # @param client [#count, #histogram, #gauge] such as Datadog::Statsd
      # @param namespace [String, nil] prefix of each name
      # @param default_tags [Array<String>] tags of each metric
      # @param rd_kafka_metrics [Array<Metric>] from statistics
      def initialize(client:, namespace: "penstock", default_tags: [], rd_kafka_metrics: METRICS)
        @client = client
        @prefix = namespace ? "#{namespace}." : ""
        @tags = default_tags
        @metrics = rd_kafka_metrics
        refuse_unknown_scopes
      end

      # Latencies are in microseconds, as in librdkafka.
      def on_statistics_emitted(event)
        statistics = event[:statistics]
        brokers = (statistics["brokers"] || {}).values.reject { |broker| broker["nodeid"] == UNKNOWN_BROKER }
        @metrics.each do |metric|
          (metric.scope == :root) ? send_metric(metric, statistics, []) : brokers.each { |broker| of_broker(metric, broker) }
        end
      end

      def on_error_occurred(_event)
        @client.count("#{@prefix}error_occurred", 1, tags: @tags)
      end

      def on_message_acknowledged(event)
        increment("acknowledged", event[:topic])
      end

      %w[sync async].each do |way|
        define_method(:"on_message_produced_#{way}") { |event| increment("produced_#{way}", event[:message][:topic]) }
        define_method(:"on_messages_produced_#{way}") { |event|
          each_topic(event) { |topic|
            increment("produced_#{way}", topic)
          }
        }
        define_method(:"on_buffer_flushed_#{way}") { |event| each_topic(event) { |topic| increment("flushed_#{way}", topic) } }
      end

      def on_message_buffered(event)
        @client.histogram("#{@prefix}buffer.size", event[:buffer].size, tags: @tags)
      end
      alias_method :on_messages_buffered, :on_message_buffered

      private

      def refuse_unknown_scopes
        odd = @metrics.find { |metric| !%i[root brokers].include?(metric.scope) } or return

        raise ConfigurationError, "the metric #{odd.name} has the scope #{odd.scope.inspect}: use :root or :brokers"
      end

      def of_broker(metric, broker)
        send_metric(metric, broker, ["broker:#{broker["nodename"]}"])
      end

      # A value that this librdkafka doesn't report isn't sent.
      def send_metric(metric, statistics, tags)
        value = statistics.dig(*metric.keys)
        @client.public_send(metric.type, "#{@prefix}#{metric.name}", value, tags: @tags + tags) if value
      end

      def each_topic(event)
        event[:messages].each { |message| yield message[:topic] }
      end

      def increment(name, topic)
        @client.count("#{@prefix}#{name}", 1, tags: [*@tags, "topic:#{topic}"])
      end
    end
  end
end
