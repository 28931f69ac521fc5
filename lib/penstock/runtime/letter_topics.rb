# frozen_string_literal: true

require_relative "../admin"
require_relative "../errors"
require_relative "../processing/failure/policy"

module Penstock
  module Runtime
    # Checks once, at boot, whether the topics for failed records exist, and creates the missing ones, so that a record that
    # fails at night doesn't find its dead letter topic missing. Called by the thread that starts the application.
    class LetterTopics
      # An unreachable cluster is no reason not to start: the first letter will show whether the topic exists.
      TIMEOUT_MS = 10_000
      AWAY = %i[transport all_brokers_down timed_out resolve].freeze
      private_constant :TIMEOUT_MS, :AWAY

      # @param open [#call] yields an {Admin}
      # @param logger [Logger]
      def initialize(open, logger)
        @open = open
        @logger = logger
      end

      # @param kafka [Hash] librdkafka's properties
      # @param logger [Logger]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      # @return [LetterTopics]
      def self.of(kafka, logger, token_provider: nil)
        new(->(&block) { Admin.open(kafka, timeout_ms: TIMEOUT_MS, token_provider: token_provider, &block) }, logger)
      end

      # @param topics [Array<Routing::Topic>] the consumed topics
      # @raise [ConfigurationError] lists every topic that doesn't exist and can't be created
      def check!(topics)
        wanted = topics.flat_map { |topic| Processing::Failure::Policy.new(topic).topics.map { |name| [name, topic] } }
        wanted = wanted.uniq(&:first)
        return if wanted.empty?

        problems = @open.call { |admin| make(admin, wanted) }
        raise ConfigurationError, problems unless problems.empty?
      rescue WaitTimeoutError, KafkaError => error
        raise if error.is_a?(KafkaError) && !AWAY.include?(error.code)

        @logger.warn("could not check whether the dead letter topics exist: #{error.message}")
      end

      private

      def make(admin, wanted)
        known = admin.topics(internal: true)
        wanted.reject { |name, _topic| known.key?(name) }.filter_map { |name, topic| create(admin, name, topic, known) }
      end

      # @return [Problem, nil]
      def create(admin, name, topic, known)
        admin.create_topic(name, partitions: known[topic.name])
        @logger.info("created the topic #{name} for failed records of #{topic.name}")
        nil
      rescue KafkaError => error
        return if error.code == :topic_already_exists
        raise if AWAY.include?(error.code)

        Problem.new("routes: topic #{topic.name}, consumer_group #{topic.consumer_group_id}",
          "its failed records go to #{name}, which doesn't exist and can't be created: #{error.message}",
          "Create it, or name another topic")
      end
    end
  end
end
