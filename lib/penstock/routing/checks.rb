# frozen_string_literal: true

require_relative "../errors"
require_relative "dead_letter_cycles"
require_relative "features/multiplexing"
require_relative "features/parallel_segments"

module Penstock
  module Routing
    # Finds problems in finished routes: what features check about their topics, and conflicts between topics.
    class Checks
      DECLARE = "Add config(partitions: …, replication_factor: …) to its route, declare it with declaratives.draw, or set " \
        "config.strict_declarative_topics = false"
      OUT_OF_CYCLE = "Give one of these routes a dead letter topic that isn't consumed, or whose records are skipped when they " \
        "fail (topic: false, or finally: false)"
      private_constant :DECLARE, :OUT_OF_CYCLE

      # @param settings [Config::Settings]
      # @param features [Array<Feature>]
      # @param broken [Hash{Topic => Array<Feature>}] features with invalid options, which are not checked further
      # @param declared [Array<String>] topics that are declared elsewhere
      def initialize(settings, features, broken, declared = [])
        @settings = settings
        @features = features
        @broken = broken
        @declared = declared
      end

      # @param groups [Array<ConsumerGroup>]
      # @return [Array<Problem>]
      def problems(groups)
        first = groups.reject { |group| group.segment_id.to_i.positive? } # the other segments of a split group are the same
        first.flat_map { |group| together(group) + group.topics.flat_map { |topic| alone(topic) } } + same_id(groups) +
          cycles(first.flat_map(&:topics)) + undeclared(first.flat_map(&:topics))
      end

      private

      def alone(topic)
        from_features = (@features - @broken.fetch(topic, [])).flat_map do |feature|
          feature.check(topic, topic.features[feature.verb], @settings)
        end
        (from_features + name(topic) + pattern(topic)).map { |message, hint| problem(topic, message, hint) }
      end

      def name(topic)
        return [] if topic.pattern? || topic.features[:delay_tier] || !@settings.strict_topics_namespacing
        return [] unless topic.name.include?(".") && topic.name.include?("_")

        [["its name mixes dots and underscores, which are the same in metrics",
          "Use one of them, or set config.strict_topics_namespacing = false"]]
      end

      def pattern(topic)
        return [] unless topic.pattern?

        topic.pattern.complaints.map do |complaint|
          ["its expression uses syntax that not every engine supports: #{complaint}", nil]
        end
      end

      def together(group)
        twice(group) + alike(group) + mixed(group) + segments(group) +
          group.all_subscription_groups.flat_map { |connection| multiplexing(connection) }
      end

      # A broker accepts offsets from a client that is not a member only while the group has no members.
      def mixed(group)
        direct, subscribed = group.topics.select(&:active?).partition(&:direct?)
        return [] if direct.empty? || subscribed.empty?

        [of_group(group, "has topics with assign (#{names(direct)}) and topics without (#{names(subscribed)}): while the " \
          "group has members, brokers refuse the offsets of assigned partitions",
          "Put the topics with assign into their own consumer_group")]
      end

      def segments(group)
        return [] unless group.segment

        Features::Segments.complaints(group.segment.parallel_segments).map { |complaint| of_group(group, *complaint) }
      end

      def multiplexing(connection)
        return [] unless connection.multiplexing

        place = "routes: subscription_group #{connection.name}, consumer_group #{connection.consumer_group_id}"
        Features::Multiplexed.complaints(connection, @settings).map { |complaint| Problem.new(place, *complaint) }
      end

      # A group may be drawn with the id that a segment of a split group gets.
      def same_id(groups)
        groups.group_by(&:id).values.select { |same| same.size > 1 && same.any?(&:segment) }.map do |same|
          origin = same.find(&:segment).segment.origin
          Problem.new("routes: consumer_group #{same.first.id}", "is also a segment of #{origin}, which has parallel_segments",
            "Rename it, or give parallel_segments another merge_key")
        end
      end

      def cycles(topics)
        DeadLetterCycles.new(topics) { |topic| letters_of(topic) }.to_a.map do |topic, cycle|
          problem(topic, "its dead letters come back to it (#{cycle.join(" → ")}): a record that always fails would be copied " \
            "again and again", OUT_OF_CYCLE)
        end
      end

      # Topics without a declaration.
      def undeclared(topics)
        return [] unless @settings.strict_declarative_topics

        declared = topics.select(&:declaration).map(&:name) | @declared
        bare = topics.reject { |topic| topic.pattern? || declared.include?(topic.name) }.uniq(&:name)
        bare.map { |topic| problem(topic, "isn't declared, which config.strict_declarative_topics requires", DECLARE) } +
          undeclared_letters(topics, declared)
      end

      def undeclared_letters(topics, declared)
        bound = topics.group_by { |topic| letters_of(topic) }.except(nil, *declared)
        bound.map do |name, (topic)|
          problem(topic, "has the dead letter topic #{name}, which isn't declared, as config.strict_declarative_topics requires",
            "Add its route: topic(#{name.to_sym.inspect}) { active false; config(partitions: 1) }")
        end
      end

      # The name of the topic that receives permanently failing records.
      def letters_of(topic)
        return if topic.features[:delay_tier] # created with it

        topic.features[:dead_letter_queue]&.topic_name || (topic.features[:retry_topics]&.finally || nil)
      end

      def of_group(group, message, hint)
        Problem.new("routes: consumer_group #{group.segment_origin || group.id}", message, hint)
      end

      def names(topics) = topics.map(&:name).join(", ")

      def twice(group)
        group.topics.group_by(&:name).values.select { |topics| topics.size > 1 }.map do |topics|
          places = topics.filter_map(&:location).join(" and ")
          consumers = topics.filter_map(&:consumer).uniq
          message = "is routed #{topics.size} times in this group (#{places})"
          message += ", to #{consumers.join(" and ")}" if consumers.size > 1
          problem(topics.first, message, "Keep one, or put the other into its own consumer_group")
        end
      end

      # Metrics turn dots into underscores, which makes these names equal.
      def alike(group)
        return [] unless @settings.strict_topics_namespacing

        names = group.topics.reject(&:pattern?).map(&:name).uniq
        names.group_by { |name| name.tr(".", "_") }.values.select { |same| same.size > 1 }.map do |same|
          Problem.new("routes: topics #{same.join(" and ")}, consumer_group #{group.id}",
            "differ only in dots and underscores, so they are the same in metrics",
            "Rename one, or set config.strict_topics_namespacing = false")
        end
      end

      def problem(topic, message, hint)
        kind = topic.pattern? ? "pattern" : "topic"
        at = topic.location ? " (#{topic.location})" : ""
        Problem.new("routes: #{kind} #{topic.name}, consumer_group #{topic.consumer_group_id}#{at}", message, hint)
      end
    end
  end
end
