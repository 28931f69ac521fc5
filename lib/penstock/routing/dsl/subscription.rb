# frozen_string_literal: true

require_relative "../delay_topics"
require_relative "../draft"
require_relative "../features/multiplexing"
require_relative "../macro"
require_relative "base"
require_relative "options"

module Penstock
  module Routing
    module Dsl
      # The block of a `subscription_group`: topics that share a connection of their own.
      class Subscription < Base
        # @param group [String, nil] name of the consumer group, nil for the application's
        # @param name [String, nil] name of the subscription group, nil outside of one
        def initialize(session, group: nil, name: nil)
          super(session)
          @group = group
          @name = name
          share_kafka if name
          Macro.verbs.each { |verb| define_macro(verb) }
        end

        # @param name [String, Symbol] name of the topic
        def topic(name = nil, *others, &block)
          unless others.empty?
            return report("topic takes a name and a block, is called with #{others.size + 1} arguments",
              "Write topic(#{name.inspect}) { consumer YourConsumer }", location: location)
          end

          name = name_of(name, "topic")
          add(Draft::Topic.new(name: name, **context), block) if name
        end

        # All topics whose names match a regular expression, also topics that are created later.
        #
        # @param name [String, Symbol, nil] name of the pattern, for filters and logs
        # @param regexp [Regexp]
        def pattern(name = nil, regexp = nil, &block)
          name, regexp = nil, name if name.is_a?(Regexp)
          unless regexp.is_a?(Regexp)
            return report("pattern needs a regular expression", 'Write pattern(/audit\..*/) { … }', location: location)
          end

          name = name_of(name, "pattern") if name
          add(Draft::Topic.new(name: name, pattern: regexp, **context), block)
        end

        # Reports a mistake in a macro's call, with the line of the routes.
        # @param message [String]
        # @param hint [String, nil]
        # @api private
        def problem(message, hint = nil) = report(message, hint, location: location)

        # Notes that macros keep from one call to the next, in all drawings of an application.
        # @return [Hash]
        # @api private
        def notes = @session.notes

        # The topics in which delayed messages wait; they belong to the whole application.
        def delay_topics(*arguments, **options)
          read = DelayTopics.feature.read(arguments, options) { |message, hint| report(message, hint, location: location) }
          draft.delays << Draft::Delays.new(read, location)
          nil
        end

        private

        def place
          ["routes: #{@name ? "subscription_group #{@name}" : "top level"}",
            ("consumer_group #{@group}" if @group)].compact.join(", ")
        end

        def verbs
          [:topic, :pattern, :delay_topics, :kafka, :multiplexing, *Macro.verbs]
        end

        def context
          {group: @group, subscription: @name, location: location}
        end

        def add(topic, block)
          options = Options.new(@session, topic.place, topic.location).fill(block)
          topic.given = options.given
          topic.otherwise = options.otherwise
          draft.topics << topic
          nil
        end

        # Options of the whole group.
        def share_kafka
          entry = Draft::Subscription.new(@group, @name, location)
          draft.subscriptions << entry
          kafka = @session.features.find { |candidate| candidate.verb == :kafka }
          define_group_verb(kafka) { |read| entry.kafka = read }
          define_group_verb(Features::Multiplexed.feature) { |read| entry.multiplexing = read }
        end

        def define_macro(verb)
          define_singleton_method(verb) do |*arguments, **keywords, &block|
            Macro.fetch(verb).call(self, arguments, keywords, block)
          end
        end

        # A verb that applies to the group, not to its topics.
        def define_group_verb(feature)
          define_singleton_method(feature.verb) do |*arguments, **keywords|
            yield(feature.read(arguments, keywords) { |message, hint| report(message, hint, location: location) })
            nil
          end
        end
      end
    end
  end
end
