# frozen_string_literal: true

require_relative "../errors"
require_relative "../on_demand"
Penstock.load_constant :Admin

module Penstock
  module Runtime
    # Checks once, at boot, whether the topics exist that Penstock itself writes to ({LetterTopics}, {DelayTopics}), and creates
    # the missing ones, so that a missing dead letter topic is noticed at boot and not when the first record fails. Called by the
    # thread that starts the application.
    class BootTopics
      # Time limit for the request. If the cluster is unreachable, the application starts all the same: the first write shows
      # whether the topic exists.
      TIMEOUT_MS = 10_000
      UNREACHABLE = %i[transport all_brokers_down timed_out resolve].freeze
      private_constant :TIMEOUT_MS, :UNREACHABLE

      # A topic that must exist. `like`: the topic whose number of partitions it gets, nil: one partition; `config`: its
      # properties; `purpose`: for the log; `place`, `reason` and `hint`: of the problem if it can't be created.
      Wanted = Struct.new(:name, :like, :config, :purpose, :place, :reason, :hint, keyword_init: true)

      # @param open [#call] yields an {Admin}
      # @param logger [Logger]
      def initialize(open, logger)
        @open = open
        @logger = logger
      end

      # @param kafka [Hash] librdkafka's properties
      # @param logger [Logger]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      # @return [BootTopics]
      def self.of(kafka, logger, token_provider: nil)
        new(->(&block) { Admin.open(kafka, timeout_ms: TIMEOUT_MS, token_provider: token_provider, &block) }, logger)
      end

      # @param wanted [Array<Wanted>]
      # @raise [ConfigurationError] lists every topic that doesn't exist and can't be created
      def check!(wanted)
        return if wanted.empty?

        problems = @open.call { |admin| make(admin, wanted) }
        raise ConfigurationError, problems unless problems.empty?
      rescue WaitTimeoutError, KafkaError => error
        raise if error.is_a?(KafkaError) && !UNREACHABLE.include?(error.code)

        @logger.warn("could not check whether #{wanted.map(&:name).first(3).join(", ")} exist: #{error.message}")
      end

      private

      def make(admin, wanted)
        known = admin.topics(internal: true)
        wanted.reject { |topic| known.key?(topic.name) }.filter_map { |topic| create(admin, topic, known) }
      end

      # @return [Problem, nil]
      def create(admin, topic, known)
        partitions = topic.like ? known[topic.like] : 1
        admin.create_topic(topic.name, partitions: partitions, config: topic.config || {})
        @logger.info("created the topic #{topic.name} for #{topic.purpose}")
        nil
      rescue KafkaError => error
        return if error.code == :topic_already_exists
        raise if UNREACHABLE.include?(error.code)

        Problem.new(topic.place, "#{topic.reason} #{topic.name}, which doesn't exist and can't be created: #{error.message}",
          topic.hint)
      end
    end
  end
end
