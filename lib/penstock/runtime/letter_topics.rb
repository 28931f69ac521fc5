# frozen_string_literal: true

require_relative "../admin"
require_relative "../errors"
require_relative "../processing/failure/policy"

module Penstock
  module Runtime
    # Looks once, at boot, whether the topics are there that failed records go to, and makes those that aren't: a record that
    # dies at night must not find that nobody made its grave. Called by the thread that starts the application.
    class LetterTopics
      # A cluster that can't be asked is no reason not to start: its answer will come with the first letter.
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

      # @param topics [Array<Routing::Topic>] that are consumed
      # @raise [ConfigurationError] with every topic that isn't there and can't be made
      def check!(topics)
        wanted = topics.flat_map { |topic| Processing::Failure::Policy.new(topic).topics.map { |name| [name, topic] } }
        wanted = wanted.uniq(&:first)
        return if wanted.empty?

        problems = @open.call { |admin| make(admin, wanted) }
        raise ConfigurationError, problems unless problems.empty?
      rescue WaitTimeoutError, KafkaError => error
        raise if error.is_a?(KafkaError) && !AWAY.include?(error.code)

        @logger.warn("whether the topics of dead letters exist could not be asked: #{error.message}")
      end

      private

      def make(admin, wanted)
        known = admin.topics(internal: true)
        wanted.reject { |name, _topic| known.key?(name) }.filter_map { |name, topic| create(admin, name, topic, known) }
      end

      # @return [Problem, nil]
      def create(admin, name, topic, known)
        admin.create_topic(name, partitions: known[topic.name])
        @logger.info("made the topic #{name}, where records of #{topic.name} go that fail")
        nil
      rescue KafkaError => error
        return if error.code == :topic_already_exists
        raise if AWAY.include?(error.code)

        Problem.new("routes: topic #{topic.name}, consumer_group #{topic.consumer_group_id}",
          "its records go to #{name} when they fail, which doesn't exist and can't be made: #{error.message}",
          "Make it, or name another one")
      end
    end
  end
end
