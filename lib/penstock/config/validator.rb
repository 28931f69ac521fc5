# frozen_string_literal: true

require_relative "../errors"
require_relative "kafka_checks"
require_relative "kafka_map"

module Penstock
  module Config
    # Finds all problems of settings and routes at once, before anything is opened. Stateless.
    module Validator
      # Generated host names, which change with each deployment.
      GENERATED = [/-[0-9a-f]{6,10}-[a-z0-9]{5}\z/, /\A[0-9a-f]{12}\z/, /\A[0-9a-f]{64}\z/].freeze

      class << self
        # @param settings [Settings]
        # @param routes [Routing::Routes, nil] nil to check only the settings
        # @param hostname [String, nil] nil for this machine's name
        # @return [Array<Problem>] empty if there are none
        def problems(settings, routes = nil, hostname: nil)
          found = settings.problems + relations(settings) + membership(settings, hostname)
          found += routes.problems if routes
          found += kafka(settings, routes&.all_subscription_groups || [])
          found.uniq
        end

        # @return [void]
        # @raise [ConfigurationError] with all problems
        def check!(settings, routes = nil)
          found = problems(settings, routes)
          raise ConfigurationError, found unless found.empty?
        end

        private

        def relations(settings)
          [
            (settings.pause.timeout > settings.pause.max_timeout) &&
              Problem.new("config.pause.timeout", "(#{settings.pause.timeout}) must not be above pause.max_timeout " \
                "(#{settings.pause.max_timeout})", "Raise config.pause.max_timeout or lower it"),
            *producer(settings),
            *swarm(settings.swarm)
          ].select(&:itself)
        end

        # A block changes the producer that is built from `kafka`; another one is complete when it is assigned.
        def producer(settings)
          return [] if settings.producer.nil? || settings.producer_blocks.empty?
          [Problem.new("config.producer", "is assigned and also has a block, which would change nothing: it configures the " \
            "producer that is built from config.kafka", "Configure your producer where you create it, or remove the assignment")]
        end

        # A node that reports at each interval must not seem silent because one report was late.
        def swarm(settings)
          interval, limit = settings.supervision_interval, settings.liveness_timeout
          first, longest = settings.restart_backoff, settings.restart_backoff_max
          [
            (limit <= 2 * interval) &&
              Problem.new("config.swarm.liveness_timeout", "(#{limit}) must be above twice the supervision_interval " \
                "(#{interval})", "Raise config.swarm.liveness_timeout or lower the interval"),
            (first > longest) &&
              Problem.new("config.swarm.restart_backoff", "(#{first}) must not be above restart_backoff_max (#{longest})",
                "Raise config.swarm.restart_backoff_max or lower it")
          ]
        end

        # A member that comes back under another id leaves its partitions without an owner for the whole session
        # timeout.
        def membership(settings, hostname)
          return [] unless settings.static_membership == true
          hostname ||= KafkaMap.hostname
          return [] if GENERATED.none? { |pattern| pattern.match?(hostname) }

          [Problem.new("config.static_membership", "uses this host's name, #{hostname}, which looks generated: after a " \
            "deployment it changes, and partitions wait for the old member until its session times out",
            "Set an id that doesn't change, such as the ordinal of a StatefulSet")]
        end

        def kafka(settings, groups)
          own = groups.reject { |group| group.kafka == settings.kafka }
          (application(settings, groups - own) + own.flat_map { |group| connection(settings, group) }).uniq
        end

        # A group that adds properties to the application's has its address; so has that of `delay_topics`. A missing one is
        # then reported once, for the application.
        def adds?(settings, group)
          return true if group.topics.any? { |topic| topic.features[:delay_tier] }
          settings.kafka.any? && settings.kafka.all? { |name, _value| group.kafka.key?(name) }
        end

        # Unless every connection has its own properties, the application's are checked as a whole.
        def application(settings, groups)
          return missing(settings) if settings.kafka.empty?

          checks = KafkaChecks.new(settings.kafka) { "config.kafka" }
          found = groups.first(1).flat_map { |group| checks.problems(:consumer, KafkaMap.consumer(settings, group)) }
          found += KafkaChecks.new(settings.kafka) { "config.kafka" }.problems(:producer, KafkaMap.producer(settings))
          found + admin(settings)
        end

        # A value that isn't a Hash was already reported.
        def missing(settings)
          return [] if settings.problems.any? { |problem| problem.path == "config.kafka" }

          [Problem.new("config.kafka", "is empty", 'It needs at least {"bootstrap.servers": "localhost:9092"}')]
        end

        def admin(settings)
          return [] if settings.admin.kafka.empty?

          merged = settings.kafka.merge(settings.admin.kafka)
          KafkaChecks.new(merged) { |name| settings.admin.kafka.key?(name&.to_s&.to_sym) ? "config.admin.kafka" : "config.kafka" }
            .problems(:admin, KafkaMap.admin(settings))
        end

        # A property that the topic inherited is reported as the application's.
        def connection(settings, group)
          route = "routes: #{group.topics.map(&:name).join(", ")}, consumer_group #{group.consumer_group_id}, kafka"
          KafkaChecks.new(group.kafka, servers: !adds?(settings, group)) { |name|
            inherited?(settings, group, name) ? "config.kafka" : route
          }.problems(:consumer, KafkaMap.consumer(settings, group))
        end

        def inherited?(settings, group, name)
          [name, name&.to_s&.to_sym].any? do |key|
            settings.kafka.key?(key) && settings.kafka[key] == group.kafka[key]
          end
        end
      end
    end
  end
end
