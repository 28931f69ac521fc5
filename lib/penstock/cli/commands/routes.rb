# frozen_string_literal: true

require_relative "../boot"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Prints the routing as the server will use it. Connects to nothing.
      class Routes < Command
        command "routes", "Prints groups, topics, their consumers and options"
        details <<~TEXT
          Below each topic are the options of its route that differ from the defaults, as they are written in a route. Durations
          are in milliseconds.
        TEXT

        private

        def define(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          application = Boot.new(context).application.validate!
          require_relative "../route_options"
          @route_options = RouteOptions.new(application.config)
          routes = application.routes
          return say_json(routes.consumer_groups.map { |group| describe(group) }) if options[:json]

          routes.consumer_groups.each { |group| print_group(group) }
        end

        def print_group(group)
          say group.id.to_s
          group.subscription_groups.each do |subscription|
            say "  #{subscription.id}#{connections(subscription.multiplexing)}"
            subscription.topics.each { |topic| say "    #{line(topic)}", @route_options.of(topic).map { |use| "      #{use}" } }
          end
        end

        def connections(multiplexing)
          return unless multiplexing

          " (#{[multiplexing.min, multiplexing.max].uniq.join(" to ")} connections)"
        end

        def line(topic)
          notes = [*added(topic.features), ("topics that match #{topic.pattern.source}" if topic.pattern?),
            ("not active" unless topic.active?), ("manual offsets" if topic.manual_offset_management?),
            ("assigned: #{Array(topic.assigned).join(", ")}" if topic.direct?), *failures(topic.features)].compact
          "#{topic.name} → #{topic.consumer || "no consumer"}#{" (#{notes.join(", ")})" if notes.any?}"
        end

        # The purpose of a topic that no route names.
        def added(features)
          retries, delay = features.values_at(:retry_topics, :delay_tier)
          [("retry #{retries.tier} of #{retries.source}, after #{retries.due_within_ms} ms" if retries&.delayed?),
            ("delayed messages, for #{delay.delay_ms} ms" if delay)]
        end

        # The options about order and failures, whose mistakes are otherwise noticed with the first failure.
        def failures(features)
          by, dead = features[:parallel]&.by, features[:dead_letter_queue]
          [("parallel by #{by.is_a?(Symbol) ? by : "a callable"}" if by),
            ("dead letters to #{dead.topic} #{limit(dead)}" if dead&.topic.is_a?(String))]
        end

        def limit(dead)
          return "as its strategy decides" if dead.strategy

          "after #{dead.max_retries} #{(dead.max_retries == 1) ? "retry" : "retries"}"
        end

        def describe(group)
          {id: group.id, subscription_groups: group.subscription_groups.map { |subscription| describe_connections(subscription) }}
        end

        def describe_connections(subscription)
          {id: subscription.id, connections: subscription.multiplexing&.to_h,
           topics: subscription.topics.map { |topic| describe_topic(topic) }}
        end

        # A verb that is used several times has an Array.
        def json(uses) = uses.one? ? uses.first.to_json_value : uses.map(&:to_json_value)

        def describe_topic(topic)
          {
            name: topic.name, consumer: topic.consumer&.to_s, active: topic.active?, max_messages: topic.max_messages,
            initial_offset: topic.initial_offset, assigned: topic.assigned,
            manual_offset_management: topic.manual_offset_management?,
            options: @route_options.of(topic).group_by(&:verb).transform_values { |uses| json(uses) }
          }
        end
      end
    end
  end
end
