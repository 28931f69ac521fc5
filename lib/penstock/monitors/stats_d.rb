# frozen_string_literal: true

require_relative "karafka_metrics"
require_relative "metrics_exporter"

module Penstock
  module Monitors
    # Sends metrics to Datadog's agent, or to another server of DogStatsD's protocol.
    #
    #     require "datadog/statsd"
    #     require "penstock/monitors/stats_d"
    #     Penstock::Monitors::StatsD.install(PenstockApp, Datadog::Statsd.new("localhost", 8125), default_tags: ["env:live"])
    #
    # Names, labels (as tags) and units are those of docs/monitoring.md; with `names: :karafka` those of Karafka's listener for
    # Datadog. The client is the application's, which closes it; it is flushed when the application ends.
    class StatsD < MetricsExporter
      CLIENT = %i[count gauge histogram distribution].freeze
      OPTIONS = {
        names: Options::Option.new(:penstock, ":penstock or :karafka", ->(value) { %i[penstock karafka].include?(value) }),
        namespace: Options::Option.new(nil, "a String or nil", ->(value) { value.nil? || value.is_a?(String) }),
        default_tags: Options::Option.new([].freeze, "an Array of Strings such as \"env:live\"",
          ->(value) { value.is_a?(Array) && value.all?(String) }),
        distribution_mode: Options::Option.new(:histogram, ":histogram or :distribution",
          ->(value) { %i[histogram distribution].include?(value) }),
        rd_kafka_metrics: Options::Option.new(nil, "an Array of Penstock::Monitors::StatsD::RdKafkaMetric, with names: :karafka",
          ->(value) { value.nil? || (value.is_a?(Array) && value.all?(DatadogProducer::Metric)) })
      }.freeze
      private_constant :CLIENT, :OPTIONS

      # A figure of librdkafka's statistics: its type (`:count`, `:gauge`, `:histogram`), its scope (`:root`, `:brokers` or
      # `:topics`, one per partition), its name, and the keys that lead to the value.
      RdKafkaMetric = DatadogProducer::Metric

      # @param client [Datadog::Statsd] or another object with its methods, which must not block
      # @param options [Hash{Symbol => Object}]
      # @option options [Symbol] :names `:penstock`, or `:karafka` for the names of Karafka's listener
      # @option options [String, nil] :namespace prefix of each name, separated by a dot; default: none, with `names: :karafka`
      #   `"karafka"` (`"waterdrop"` for producers)
      # @option options [Array<String>] :default_tags tags of each metric
      # @option options [Symbol] :distribution_mode `:histogram` (the agent computes percentiles) or `:distribution` (Datadog
      #   does, over all hosts)
      # @option options [Array<RdKafkaMetric>] :rd_kafka_metrics with `names: :karafka`: figures of consumers' statistics
      # @return [StatsD, KarafkaMetrics]
      # @raise [ConfigurationError]
      def self.new(client, **options)
        clock = options.delete(:clock)
        options = Options.checked("StatsD", options, OPTIONS,
          [client_problem(client), figures_problem(options), *scope_problems(options[:rd_kafka_metrics])])
        return KarafkaMetrics.new(client, **options.except(:names)) if options[:names] == :karafka
        super(client, **options.slice(:namespace, :default_tags, :distribution_mode), **(clock ? {clock: clock} : {}))
      end

      def self.client_problem(client)
        missing = CLIENT.reject { |name| client.respond_to?(name) }
        return if missing.empty?
        Problem.new("StatsD", "#{client.class} can't be the client: it doesn't have #{missing.join(", ")}",
          "Pass Datadog::Statsd.new(\"localhost\", 8125)")
      end

      def self.figures_problem(options)
        return if options[:rd_kafka_metrics].nil? || options[:names] == :karafka
        Problem.new("StatsD rd_kafka_metrics", "has no effect on Penstock's own names", "Pass names: :karafka, or leave it out")
      end

      def self.scope_problems(metrics)
        return [] unless metrics.is_a?(Array)
        metrics.grep(RdKafkaMetric).reject { |metric| KarafkaMetrics::SCOPES.include?(metric.scope) }.map do |metric|
          Problem.new("StatsD rd_kafka_metrics", "the metric #{metric.name} has the scope #{metric.scope.inspect}",
            "Use #{KarafkaMetrics::SCOPES.map(&:inspect).join(", ")}")
        end
      end

      # Names with another prefix are other metrics.
      def self.target_of(client = nil, names:, namespace:, **)
        [client.object_id, names, namespace || (KarafkaMetrics::NAMESPACE if names == :karafka)]
      end

      def self.defaults = OPTIONS.transform_values(&:default)
      private_class_method :target_of, :defaults, :client_problem, :figures_problem, :scope_problems

      # @api private
      def initialize(client, namespace:, default_tags:, distribution_mode:, **clock)
        @client = client
        @prefix = namespace ? "#{namespace}." : ""
        @default_tags = default_tags
        @distribution = distribution_mode
        super(**clock)
      end

      # @see MetricsExporter#flush
      def flush = KarafkaMetrics.flush(@client)

      private

      def counter(metric)
        name = name_of(metric)
        ->(tags, value) { @client.count(name, value, tags: tags) }
      end

      def histogram(metric)
        name = name_of(metric)
        return ->(tags, value) { @client.histogram(name, value, tags: tags) } if @distribution == :histogram
        ->(tags, value) { @client.distribution(name, value, tags: tags) }
      end

      def set_gauge(metric, tags, value) = @client.gauge(name_of(metric), value, tags: tags)

      def name_of(metric) = "#{@prefix}#{metric.name}".freeze

      # A label that the event doesn't have is no tag.
      def labels(names, values)
        @default_tags + names.zip(values).filter_map { |name, value| "#{name}:#{value}" unless value.empty? }
      end
    end
  end
end
