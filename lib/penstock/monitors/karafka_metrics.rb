# frozen_string_literal: true

require_relative "../instrumentation/metrics/label_values"
require_relative "../instrumentation/metrics/listener"
require_relative "datadog_producer"

module Penstock
  module Monitors
    # Sends the metrics of consumers that Karafka's listener for Datadog has, under its names and with its tags; those of
    # producers as {DatadogProducer} does. Created by `StatsD.new(…, names: :karafka)`.
    #
    # Called on the threads that publish events. Durations and lags are in milliseconds, latencies of brokers in microseconds,
    # as there.
    class KarafkaMetrics
      NAMESPACE = "karafka"
      SCOPES = %i[root brokers topics].freeze
      HOOKS = {"consumer.revoked" => "consumer.revoked", "consumer.shutdown" => "consumer.shutdown",
               "consumer.ticked" => "consumer.tick"}.freeze
      # librdkafka's number of a broker that it doesn't know yet, and its value of an unknown lag.
      UNKNOWN = -1
      IDLE_FETCH = %w[none stopped].freeze
      Metric = DatadogProducer::Metric

      RD_KAFKA_METRICS = [
        Metric.new(:count, :root, "messages.consumed", %w[rxmsgs_d]),
        Metric.new(:count, :root, "messages.consumed.bytes", %w[rxmsg_bytes_d]),
        Metric.new(:count, :brokers, "consume.attempts", %w[txretries_d]),
        Metric.new(:count, :brokers, "consume.errors", %w[txerrs_d]),
        Metric.new(:count, :brokers, "receive.errors", %w[rxerrs_d]),
        Metric.new(:count, :brokers, "connection.connects", %w[connects_d]),
        Metric.new(:count, :brokers, "connection.disconnects", %w[disconnects_d]),
        *%w[avg p95 p99].map { |part| Metric.new(:gauge, :brokers, "network.latency.#{part}", ["rtt", part]) },
        Metric.new(:gauge, :topics, "consumer.lags", %w[consumer_lag]),
        Metric.new(:gauge, :topics, "consumer.lags_delta", %w[consumer_lag_d])
      ].freeze
      private_constant :HOOKS, :UNKNOWN, :IDLE_FETCH, :Metric

      # Sends what a client has buffered, if it buffers.
      # @return [void]
      def self.flush(client) = (client.flush(sync: true) if client.respond_to?(:flush))

      # @see StatsD.new
      def initialize(client, namespace:, default_tags:, distribution_mode:, rd_kafka_metrics:)
        @client = client
        @namespace = namespace
        prefix = "#{namespace || NAMESPACE}."
        @names = Hash.new { |names, name| names[name] = "#{prefix}#{name}".freeze }
        @tags = default_tags
        @distribution = distribution_mode
        @metrics = (rd_kafka_metrics || RD_KAFKA_METRICS).group_by(&:scope)
        @threads = nil
        forget_places
      end

      # @see MetricsExporter#subscribe_to
      # @api private
      def subscribe_to(monitor, topics:, **)
        @topics = topics
        monitor.subscribe("statistics.emitted") { |event| statistics(event) unless event.payload[:producer_id] }
        monitor.subscribe("error.occurred") { |event| count("error_occurred", 1, [*@tags, "type:#{event[:type]}"]) }
        monitor.subscribe("consumer.consumed") { |event| consumed(event) }
        HOOKS.each { |event_name, name| monitor.subscribe(event_name) { |event| count(name, 1, place(event)) } }
        workers(monitor)
        monitor.subscribe("swarm.node.after_fork") { |event| become_node(event[:node].id) }
        monitor.subscribe("app.terminated") { self.class.flush(@client) }
      end

      # @see MetricsExporter#subscribe_to_producer
      # @api private
      def subscribe_to_producer(monitor)
        monitor.subscribe(DatadogProducer.new(client: @client, namespace: @namespace || "waterdrop", default_tags: @tags))
      end

      # @return [String] a short one
      def inspect = "#<#{self.class}>"

      private

      def consumed(event)
        tags = place(event)
        count("consumer.messages", event[:messages_count], tags)
        count("consumer.batches", 1, tags)
        @client.gauge(@names["consumer.offset"], event[:last_offset], tags: tags)
        distribution("consumer.consumed.time_taken", event[:time], tags)
        distribution("consumer.batch_size", event[:messages_count], tags)
        lags(event.payload[:caller], tags)
      end

      # An event of the application's own code may have no consumer.
      def lags(consumer, tags)
        return unless consumer.respond_to?(:messages)
        metadata = consumer.messages.metadata
        distribution("consumer.processing_lag", metadata.processing_lag, tags)
        distribution("consumer.consumption_lag", metadata.consumption_lag, tags)
      end

      def workers(monitor)
        %w[up down].each { |way| monitor.subscribe("worker.scaling.#{way}") { |event| @threads = event[:to] } }
        monitor.subscribe("worker.process") do |event|
          @client.gauge(@names["worker.total_threads"], @threads, tags: @tags) if @threads
          distribution("worker.enqueued_jobs", counts(event).fetch(:enqueued), @tags)
        end
        monitor.subscribe("worker.processed") { |event| counts(event) }
      end

      # @return [Hash{Symbol => Integer}]
      def counts(event)
        event[:jobs_queue].statistics.tap { |counts| distribution("worker.processing", counts.fetch(:busy), @tags) }
      end

      def statistics(event)
        about = event[:statistics]
        group = "consumer_group:#{event.payload[:consumer_group_id]}"
        @metrics.fetch(:root, []).each { |metric| send_metric(metric, about, [group]) }
        brokers(about) { |broker, tags| each_metric(:brokers, broker, [*tags, group]) }
        partitions(about, group) { |partition, tags| each_metric(:topics, partition, tags) }
      end

      def brokers(about)
        (about["brokers"] || {}).each_value do |broker|
          yield broker, ["broker:#{broker["nodename"]}"] unless broker["nodeid"] == UNKNOWN
        end
      end

      # The lag of a partition that isn't fetched is old: another member may have it now.
      def partitions(about, group)
        (about["topics"] || {}).each do |topic, known|
          (known["partitions"] || {}).each do |number, partition|
            next if number == UNKNOWN.to_s || IDLE_FETCH.include?(partition["fetch_state"])
            next if partition["consumer_lag"] == UNKNOWN
            yield partition, ["topic:#{@topics[topic]}", "partition:#{number}", group]
          end
        end
      end

      def each_metric(scope, values, tags) = @metrics.fetch(scope, []).each { |metric| send_metric(metric, values, tags) }

      # A figure that this librdkafka doesn't report isn't sent.
      def send_metric(metric, values, tags)
        value = values.dig(*metric.keys) or return
        return distribution(metric.name, value, @tags + tags) if metric.type == :histogram
        @client.public_send(metric.type, @names[metric.name], value, tags: @tags + tags)
      end

      # @param index [Integer] which node of a swarm this process is
      def become_node(index)
        @tags = [*@tags, "node:#{index}"]
        forget_places
      end

      # Another thread of the parent may have had the lock.
      def forget_places
        @lock = Mutex.new
        @limits = Instrumentation::Metrics::LabelValues.new(%i[topic partition consumer_group])
        @places = {}
      end

      # @return [Array<String>] the tags of a partition in its group
      def place(event)
        group = Instrumentation::Metrics::Listener.group_of(event.payload[:caller])
        topic, partition = event[:topic], event[:partition]
        @places.dig(topic, group, partition) || @lock.synchronize { new_place(topic, partition, group) }
      end

      # Limited as the labels of all metrics are. Values that were not kept are looked up here each time.
      def new_place(topic, partition, group)
        limited = @limits.limited([@topics[topic.to_s], partition.to_s, group.to_s])
        tags = [*@tags, *%w[topic partition consumer_group].zip(limited).map { |name, value| "#{name}:#{value}" }].freeze
        return tags unless limited == [topic, partition.to_s, group] && partition.is_a?(Integer)
        ((@places[topic] ||= {})[group] ||= {})[partition] = tags
      end

      def count(name, value, tags) = @client.count(@names[name], value, tags: tags)

      def distribution(name, value, tags)
        return @client.histogram(@names[name], value, tags: tags) if @distribution == :histogram
        @client.distribution(@names[name], value, tags: tags)
      end
    end
  end
end
