# frozen_string_literal: true

require_relative "../errors"
require_relative "checks"
require_relative "delay_topics"
require_relative "option_values"
require_relative "routes"

module Penstock
  module Routing
    # Builds {Routes} from drawings: options that a topic doesn't set come from `defaults`, then from the settings;
    # topics of a consumer group with the same properties share a connection unless their routes separate them. Used
    # once.
    class Composition
      # @param drafts [Array<Draft>]
      # @param settings [Config::Settings]
      # @param features [Array<Feature>]
      # @param delay_consumer [Class, nil]
      # @param declared [Array<String>] topics that are declared elsewhere
      def initialize(drafts, settings, features, delay_consumer: nil, declared: [])
        @drafts = drafts
        @settings = settings
        @features = features
        @defaults = drafts.flat_map(&:defaults).reduce({}) { |all, given| given.merge(all) }
        @declared = declared
        @position = -1
        @broken = {}.compare_by_identity
        @delays = DelayTopics.new(drafts.flat_map(&:delays), settings, delay_consumer)
      end

      # @return [Routes]
      def routes
        groups = [*grouped.flat_map { |id, topics| split(id, topics) }, *delay_group]
        checks = Checks.new(@settings, @features, @broken, @declared)
        problems = [*@drafts.flat_map(&:problems), *@delays.problems, *@delays.conflicts(groups), *empty_groups,
          *empty_subscription_groups, *checks.problems(groups)]
        Routes.new(groups, default_topic: default_topic, problems: problems.uniq, delay_tiers: @delays.tiers)
      end

      private

      # Topics by consumer group; groups in the order in which they first appear.
      def grouped
        names = @drafts.flat_map { |draft| draft.topics.map { |topic| group_of(topic) } }.uniq
        topics = @drafts.flat_map(&:topics).group_by { |topic| group_of(topic) }
        names.to_h { |name| [name, topics.fetch(name)] }
      end

      def group_of(topic)
        topic.group || @settings.group_id
      end

      # The group that moves delayed messages on. Its topics get nothing from `defaults`.
      def delay_group
        topics = @delays.drafts.map do |tier, draft|
          made_of(draft, draft.group, draft.given).sibling(draft.name, delay_tier: tier).tap { |topic| @broken[topic] = [] }
        end
        return if topics.empty?

        id = topics.first.consumer_group_id
        ConsumerGroup.new(id, [SubscriptionGroup.new(consumer_group_id: id, name: "default", position: @position += 1,
          topics: topics, kafka: topics.first.kafka)])
      end

      # One group, or one per segment if it is split by key.
      def split(id, drafts)
        parallel = shared(:segments, @drafts.flat_map(&:groups).select { |group| group.name == id }, Features::Segments.feature)
        return [consumer_group(id, drafts)] unless parallel&.active?

        parallel.segments(id).map { |segment| consumer_group(segment.group_id, drafts, segment) }
      end

      # Options of a whole group, taken from one of the drawings that opened it.
      def shared(member, entries, feature)
        given = entries.filter_map(&member).first or return
        feature.build(given, @settings)
      end

      def consumer_group(id, drafts, segment = nil)
        drafts_and_topics = drafts.flat_map { |draft| [draft].product(with_derived(topic(id, draft))) }
        connections = drafts_and_topics.group_by { |draft, topic| [draft.subscription, topic.kafka] }
        names = connection_names(connections.keys)
        ConsumerGroup.new(id, connections.map do |key, pairs|
          SubscriptionGroup.new(consumer_group_id: id, name: names.fetch(key), position: @position += 1,
            topics: pairs.map(&:last), kafka: key.last, multiplexing: multiplexing(pairs.first.first))
        end, segment: segment)
      end

      def multiplexing(draft)
        entries = @drafts.flat_map(&:subscriptions).select do |entry|
          entry.group == draft.group && entry.name == draft.subscription
        end
        shared(:multiplexing, entries, Features::Multiplexed.feature)
      end

      # A name is repeated only with different properties; then it gets a number.
      def connection_names(keys)
        keys.group_by { |subscription, _kafka| subscription || "default" }.flat_map do |name, same|
          same.each_with_index.map { |key, index| [key, index.zero? ? name : "#{name}#{index + 1}"] }
        end.to_h
      end

      def topic(group_id, draft)
        given = {**draft.otherwise.to_h, **@defaults, **draft.given}
        topic = made_of(draft, group_id, given)
        @broken[topic] = @features.select { |feature| feature.broken?(given[feature.verb]) }
        topic
      end

      def made_of(draft, group_id, given)
        pattern = draft.pattern && TopicPattern.new(draft.pattern)
        Topic.new(name: draft.name || pattern.default_name, pattern: pattern, consumer_group_id: group_id,
          kafka: kafka_of(draft, given), features: values(given), location: draft.location)
      end

      # A topic and the topics that its features add, which use the same route.
      def with_derived(topic)
        derived = @features.flat_map do |feature|
          feature.derived(topic.name, topic.features[feature.verb])
            .map { |name, value| topic.sibling(name, feature.verb => value) }
        end
        derived.each { |sibling| @broken[sibling] = @broken.fetch(topic) }
        [topic, *derived]
      end

      def values(given)
        @features.to_h { |feature| [feature.verb, feature.build(given[feature.verb], @settings)] }
      end

      # The topic's properties over its subscription group's over the application's; a level is merged with the one
      # above only if it sets `inherit: true`.
      def kafka_of(draft, given)
        shared = subscriptions[[draft.group, draft.subscription]]
        [shared, given[:kafka]].compact.reduce(@settings.kafka) { |above, own| own_kafka(own).over(above) }
      end

      def own_kafka(given)
        OwnKafka.new(given.fetch(:properties, {}), given.fetch(:inherit, false))
      end

      def subscriptions
        @subscriptions ||= @drafts.flat_map(&:subscriptions).select(&:kafka)
          .to_h { |entry| [[entry.group, entry.name], entry.kafka] }
      end

      def default_topic
        own = @defaults[:kafka]
        kafka = own ? own_kafka(own).over(@settings.kafka) : @settings.kafka
        Topic.new(name: "*", consumer_group_id: @settings.group_id, kafka: kafka, features: values(@defaults)).freeze
      end

      def empty_groups
        drawn = @drafts.flat_map { |draft| draft.topics.map(&:group) }
        @drafts.flat_map(&:groups).reject { |group| drawn.include?(group.name) }.map do |group|
          Problem.new("routes: consumer_group #{group.name} (#{group.location})", "has no topic",
            "Add one or remove the group")
        end
      end

      def empty_subscription_groups
        drawn = @drafts.flat_map { |draft| draft.topics.map { |topic| [topic.group, topic.subscription] } }
        @drafts.flat_map(&:subscriptions).reject { |entry| drawn.include?([entry.group, entry.name]) }.map do |entry|
          place = "routes: subscription_group #{entry.name}"
          place += ", consumer_group #{entry.group}" if entry.group
          Problem.new("#{place} (#{entry.location})", "has no topic", "Add one or remove the group")
        end
      end
    end
  end
end
