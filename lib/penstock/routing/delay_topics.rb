# frozen_string_literal: true

require_relative "../config/types"
require_relative "../errors"
require_relative "delay_tiers"
require_relative "draft"
require_relative "feature"
require_relative "features/retry_topics"

module Penstock
  module Routing
    # `delay_topics`: the topics of an application's delayed messages, and the route that moves the messages on. It belongs to no
    # level of the routes: drawn once or several times, anywhere, the application has it once. Nothing in `defaults` applies
    # to it, so that no user's option drops or delays these records.
    class DelayTopics
      NAME = Config::Types::Name.new
      private_constant :NAME

      # A name or none.
      class Prefix
        def coerce(value) = value.nil? ? nil : NAME.coerce(value)
        def to_s = "#{NAME}, or nil (config.group_id)"
      end

      # @return [Feature] of the whole application
      def self.feature
        Feature.new(:delay_topics, options: {
          prefix: Feature::Option.new(Prefix.new, nil),
          delays: Feature::Option.new(Features::RetryTopics::Delays.new, DelayTiers::DELAYS)
        }, description: "Topics in which [delayed messages](flow.md#delayed-messages) wait. `prefix`: the beginning of their " \
          "names. `delays`: for tests; records in topics that a shorter list omits are never moved on.")
      end

      # Longest time in ms for which a route's failed call waits before the next.
      PAUSE = {timeout: 500, max_timeout: 30_000, exponential: true}.freeze
      MAX_MESSAGES = 500
      # Hops shouldn't wait for jobs.
      WORKERS = {max: 1, priority: 100}.freeze
      # Only what the consumer itself dead-letters goes there; a call that fails is repeated without an end.
      RETRY = ->(_errors, _attempt) { :retry }
      # Declared for `strict_declarative_topics`, created at boot.
      DECLARED = {active: false, partitions: 1}.freeze
      # Overrides users' properties: the first consumer must find the records that were written before it.
      KAFKA = {properties: {"auto.offset.reset": "earliest"}, inherit: true}.freeze
      private_constant :PAUSE, :MAX_MESSAGES, :WORKERS, :RETRY, :DECLARED, :KAFKA

      # @param asked [Array<Draft::Delays>] one per use of the verb
      # @param settings [Config::Settings]
      # @param consumer [Class, nil] moves the messages on
      def initialize(asked, settings, consumer)
        @asked = asked
        @settings = settings
        @consumer = consumer
      end

      # @return [DelayTiers, nil] nil if the routes have none
      def tiers
        return if @asked.empty? || !problems.empty?
        @tiers ||= DelayTiers.new(chosen(:prefix) || @settings.group_id, chosen(:delays) || DelayTiers::DELAYS)
      end

      # @return [Array<(DelayTier, Draft::Topic)>]
      def drafts
        tiers ? tiers.each.map { |tier| [tier, draft(tier)] } : []
      end

      # @return [Array<Problem>]
      def problems
        return [] if @asked.empty?
        @problems ||= [contradiction, acks_problem].compact
      end

      # @param groups [Array<ConsumerGroup>] all of the application
      # @return [Array<Problem>]
      def conflicts(groups)
        return [] unless tiers
        others = groups.reject { |group| group.topics.any? { |topic| topic.features[:delay_tier] } }
        others.select { |group| group.id == tiers.group_id }.map { |group| same_group(group) } +
          others.flat_map(&:topics).select { |topic| matches?(topic) }.map { |topic| same_topics(topic) }
      end

      private

      def matches?(topic) = topic.pattern? && topic.active? && topic.pattern.match?(tiers.name(1))

      def same_group(group)
        Problem.new("routes: consumer_group #{group.id}", "is also the group of delay_topics, which moves delayed messages on",
          "Rename it, or give delay_topics another prefix:")
      end

      def same_topics(topic)
        Problem.new("routes: pattern #{topic.name}, consumer_group #{topic.consumer_group_id}",
          "also matches the delay topic #{tiers.name(1)}: it would consume messages that wait",
          "Exclude it from the expression, or give delay_topics another prefix:")
      end

      def chosen(option) = @asked.filter_map { |one| one.given[option] }.first

      def draft(tier)
        given = {
          consumer: {value: @consumer}, max_messages: {value: MAX_MESSAGES}, initial_offset: {value: "earliest"},
          consumer_persistence: {value: true}, isolate: {value: false}, breaker: {active: false}, quarantine: {active: false},
          workers: WORKERS, pause: PAUSE, config: DECLARED, kafka: KAFKA,
          dead_letter_queue: {topic: tier.tiers.dead_letter_topic, strategy: RETRY, dispatch_method: "produce_sync",
                              oversized: "reference"}
        }
        Draft::Topic.new(name: tier.topic, group: tier.tiers.group_id, given: given, location: @asked.first.location)
      end

      def contradiction
        different = @asked.reject { |one| one.given.empty? }.uniq(&:given)
        return if different.size < 2
        uses = different.map { |one|
          "#{one.given.map { |name, value| "#{name}: #{value.inspect}" }.join(", ")}#{" (#{one.location})" if one.location}"
        }
        problem("is written several times, with different options: #{uses.join("; ")}", "Keep one of them: an application has " \
          "these topics once")
      end

      def acks_problem
        acks = @settings.kafka.values_at(:acks, :"request.required.acks").compact.first
        return unless acks.to_s == "0"

        problem("needs a producer that waits for the broker: with acks 0 nobody would know whether a delayed message was stored",
          "Remove acks from config.kafka, or delay_topics from the routes")
      end

      def problem(message, hint)
        at = @asked.first.location
        Problem.new(at ? "routes: delay_topics (#{at})" : "routes: delay_topics", message, hint)
      end
    end
  end
end
