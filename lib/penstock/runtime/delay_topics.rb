# frozen_string_literal: true

require_relative "../admin"
require_relative "../errors"

module Penstock
  module Runtime
    # Checks once, at boot, whether the topics of delayed messages exist, and creates the missing ones with a retention that
    # outlasts their delay. Called by the thread that starts the application.
    class DelayTopics
      # An unreachable cluster is no reason not to start: who schedules a message learns whether its topic exists.
      TIMEOUT_MS = 10_000
      AWAY = %i[transport all_brokers_down timed_out resolve].freeze
      # Six days, in segments of half a day: less than brokers keep the offsets of a group without members (7 days), so that
      # a group whose offsets were forgotten finds nothing that it has moved on already.
      CONFIG = {"retention.ms": 518_400_000, "segment.ms": 43_200_000, "retention.bytes": -1, "cleanup.policy": "delete"}.freeze
      private_constant :AWAY, :CONFIG, :TIMEOUT_MS

      # @param open [#call] yields an {Admin}
      # @param logger [Logger]
      def initialize(open, logger)
        @open = open
        @logger = logger
      end

      # @param kafka [Hash] librdkafka's properties
      # @param logger [Logger]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      # @return [DelayTopics]
      def self.of(kafka, logger, token_provider: nil)
        new(->(&block) { Admin.open(kafka, timeout_ms: TIMEOUT_MS, token_provider: token_provider, &block) }, logger)
      end

      # @param tiers [Array<Routing::DelayTier>] the consumed ones
      # @raise [ConfigurationError] lists every topic that doesn't exist and can't be created
      def check!(tiers)
        problems = @open.call { |admin| make(admin, tiers) }
        raise ConfigurationError, problems unless problems.empty?
      rescue WaitTimeoutError, KafkaError => error
        raise if error.is_a?(KafkaError) && !AWAY.include?(error.code)

        @logger.warn("could not check whether the topics of delayed messages exist: #{error.message}")
      end

      private

      def make(admin, tiers)
        known = admin.topics(internal: true)
        tiers.reject { |tier| known.key?(tier.topic) }.filter_map { |tier| create(admin, tier) }
      end

      # @return [Problem, nil]
      def create(admin, tier)
        admin.create_topic(tier.topic, partitions: 1, config: CONFIG)
        @logger.info("created the topic #{tier.topic} for messages that wait #{tier.delay_ms} ms")
        nil
      rescue KafkaError => error
        return if error.code == :topic_already_exists
        raise if AWAY.include?(error.code)

        Problem.new("routes: delay_topics", "its topic #{tier.topic} doesn't exist and can't be created: #{error.message}",
          "Create it with 1 partition and #{CONFIG.map { |name, value| "#{name}=#{value}" }.join(", ")}")
      end
    end
  end
end
