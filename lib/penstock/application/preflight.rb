# frozen_string_literal: true

require_relative "../compat/karafka/environment"
require_relative "../config/seconds"
require_relative "../instrumentation/token_provider"

module Penstock
  class Application
    # Runs the steps that come once before an application consumes. Owned by the application; used by the thread that runs it.
    class Preflight
      # @param config [#call] returns {Config::Settings}
      # @param log [#call] returns the logger
      # @param monitor [#call] returns {Instrumentation::Monitor}
      def initialize(config:, log:, monitor:)
        @config = config
        @log = log
        @monitor = monitor
      end

      # For tests that kill a process at a named point.
      def install_faults
        specification = ENV["PENSTOCK_FAULTS"] or return
        require_relative "../runtime/faults"
        Runtime::Faults.install(specification)
        @log.call.warn("PENSTOCK_FAULTS is set: faults will be injected into this process (#{specification})")
      end

      # Environment variables without effect, and durations that look like seconds.
      def warn_of_settings
        Compat::Karafka::Environment.warn_of(ENV, @log.call)
        Config::Seconds.warnings(@config.call).each { |text| @log.call.warn(text) }
      end

      # Consumers request OAuth tokens by an event; the producer requests its own.
      def subscribe_token_provider
        listener = token_listener or return
        @token_provider ||= @monitor.call.subscribe(Instrumentation::TokenProvider.new(listener, @monitor.call))
      end

      # Asks the brokers whether they know the group protocol that the routes use.
      # @param groups [Array<Routing::SubscriptionGroup>]
      # @param properties [#call] returns librdkafka's properties of a group
      # @raise [ConfigurationError] they don't
      def check_group_protocol(groups, properties)
        return if groups.none?(&:consumer_protocol?)

        require_relative "../runtime/group_protocol"
        ask = ->(kafka) { Runtime::BrokerRequests.fetch(kafka, token_provider: token_listener) }
        Runtime::GroupProtocol.check!(groups, properties, @log.call, ask)
      end

      # Creates the topics for failed records and for delayed messages that don't exist yet.
      # @param groups [Array<Routing::SubscriptionGroup>]
      # @raise [ConfigurationError] a topic doesn't exist and can't be created
      def check_topics(groups)
        topics = groups.flat_map(&:topics)
        return if topics.none? { |topic| topic.features.values_at(:dead_letter_queue, :retry_topics, :delay_tier).any? }

        require_relative "../runtime/delay_topics" # loads the admin client
        require_relative "../runtime/letter_topics"
        wanted = Runtime::DelayTopics.wanted(topics) + Runtime::LetterTopics.wanted(topics)
        Runtime::BootTopics.of(@config.call.kafka, @log.call, token_provider: token_listener).check!(wanted)
      end

      private

      def token_listener = @config.call.oauth.token_provider_listener || nil
    end
  end
end
