# frozen_string_literal: true

require_relative "../compat/karafka/settings"
require_relative "../config/types"
require_relative "../serialization/deserializers"
require_relative "consumer_class"
require_relative "feature"
require_relative "features/adaptive_iterator"
require_relative "features/assign"
require_relative "features/backoff_for"
require_relative "features/gather"
require_relative "features/breaker"
require_relative "features/dead_letter_queue"
require_relative "features/delay_by"
require_relative "features/expire_in"
require_relative "features/filter"
require_relative "features/inline_insights"
require_relative "features/interruptible"
require_relative "features/isolate"
require_relative "features/multiplexing"
require_relative "features/offset_metadata"
require_relative "features/parallel"
require_relative "features/parallel_segments"
require_relative "features/periodic_job"
require_relative "features/quarantine"
require_relative "features/retry_topics"
require_relative "features/run_on"
require_relative "features/swarm"
require_relative "features/throttle"
require_relative "features/time_limit"
require_relative "features/window"
require_relative "features/workers"
require_relative "option_values"
require_relative "topic_properties"

module Penstock
  module Routing
    # The options of every topic, one {Feature} per verb. Other features are added to the list that the application
    # passes to the routes.
    module Features
      Option = Feature::Option
      REQUIRED = Feature::REQUIRED
      FLAG = Config::Types::Flag.new
      COUNT = Config::Types::Whole.new(min: 1)
      MS = Config::Types::Milliseconds.new(min: 1)
      CALLABLE = Config::Types::Responding.new(:call)
      private_constant :Option, :REQUIRED, :FLAG, :COUNT, :MS, :CALLABLE

      class << self
        # @return [Array<Feature>] all of them
        def core
          [
            *parties, *inherited, *flags, pause, Workers.feature, declaration,
            AdaptiveIterator.feature,
            Assign.feature,
            BackoffFor.feature,
            Batch.feature,
            Breaker.feature,
            DeadLetterQueue.feature,
            DelayBy.feature,
            ExpireIn.feature,
            Filter.feature,
            InlineInsights.feature,
            Interruptible.feature,
            Isolate.feature,
            OffsetMetadata.feature,
            Parallel.feature,
            PeriodicJob.feature,
            Quarantine.feature,
            RetryTopics.feature,
            RunOn.feature,
            Swarm.feature,
            Throttle.feature,
            TimeLimit.feature,
            Window.feature
          ].freeze
        end

        # @return [Array<Feature>] options of subscription groups and consumer groups
        def of_groups = [Multiplexed.feature, Segments.feature].freeze

        private

        def parties
          [
            single(:consumer, ConsumerClass.new, check: CONSUMER, description: "The class whose `consume` is called with the " \
              "messages."),
            single(:active, FLAG, default: true, absent: true,
              description: "Whether the topic is consumed; false only declares it, for administration."),
            kafka, deserializers
          ]
        end

        def inherited
          [
            setting(:max_messages, COUNT),
            setting(:max_wait_time, Config::Types::Milliseconds.new(min: 10)),
            setting(:initial_offset, Config::Types::Word.new("earliest", "latest")),
            setting(:consumer_persistence, FLAG)
          ]
        end

        def flags
          [
            flag(:manual_offset_management, description: "The offset is committed only up to messages that the consumer has " \
              "marked."),
            flag(:eofed, check: EOFED, description: "Whether `eofed` is called at the end of a partition."),
            single(:rails_executor, FLAG, absent: true, description: "In a Rails application: whether calls run in Rails' " \
              "executor, which gives each of them database connections and `CurrentAttributes` of its own; false for code " \
              "that does so itself."),
            flag(:long_running_job, aliases: [:non_blocking_job],
              description: Compat::Karafka::Settings.without_effect("long_running_job"))
          ]
        end

        # A verb with one option that is given without its name.
        def single(verb, type, default: REQUIRED, absent: nil, **more)
          Feature.new(verb, options: {value: Option.new(type, default)}, positional: :value,
            value: ->(value:) { value }, absent: absent, **more)
        end

        def flag(verb, **more)
          single(verb, FLAG, default: true, absent: false, **more)
        end

        # A verb whose default is the setting of the same name.
        def setting(verb, type)
          single(verb, type, absent: ->(settings) { settings.public_send(verb) },
            description: "Like `config.#{verb}`, for this topic.")
        end

        def kafka
          Feature.new(:kafka, positional: :properties, rest: :properties,
            description: "librdkafka's properties instead of the application's or, with `inherit`, on top of them.",
            options: {properties: Option.new(Config::Types::Map.new, REQUIRED), inherit: Option.new(FLAG, false)},
            value: ->(properties:, inherit:) { OwnKafka.new(properties, inherit) })
        end

        def deserializers
          Feature.new(:deserializers, aliases: [:deserializer], positional: :payload,
            description: "Objects whose `call` turns bytes into objects. Defaults: JSON for payloads, keys and headers as " \
              "they are.",
            options: %i[payload key headers].to_h { |part| [part, Option.new(CALLABLE, nil)] },
            value: ->(**parts) { Serialization::Deserializers.new(**parts) },
            absent: Serialization::Deserializers::DEFAULT)
        end

        # Missing values come from the settings, not from `defaults`.
        def pause
          from = ->(member) { ->(settings) { settings.pause.public_send(member) } }
          Feature.new(:pause, renamed: {with_exponential_backoff: :exponential}, check: PAUSE,
            description: "Waits before retries, in ms. Missing values come from `config.pause`.",
            options: {timeout: Option.new(MS, from.call(:timeout)), max_timeout: Option.new(MS, from.call(:max_timeout)),
                      exponential: Option.new(FLAG, from.call(:with_exponential_backoff))},
            value: ->(timeout:, max_timeout:, exponential:) { Pause.new(timeout, max_timeout, exponential) },
            absent: ->(settings) { Pause.new(*settings.pause.to_a) })
        end

        def declaration
          type = Config::Types::Map.new
          Feature.new(:config, rest: :details,
            description: "The topic's desired state on the cluster; other keywords are the topic's Kafka properties.",
            options: {active: Option.new(FLAG, true), partitions: Option.new(COUNT, 1),
                      replication_factor: Option.new(COUNT, 1), protect: Option.new(FLAG, false),
                      details: Option.new(type, {}.freeze)},
            value: lambda { |active:, partitions:, replication_factor:, protect:, details:|
              Declaration.new(active, partitions, replication_factor, protect, details)
            }, check: ->(_topic, declared, _settings) { declared ? TopicProperties.complaints(declared.details) : [] })
        end
      end

      CONSUMER = lambda do |topic, consumer, _settings|
        next [] unless topic.active?
        next ConsumerClass.complaints(consumer) if consumer

        [["has no consumer", "Add `consumer YourConsumer`, or `active false` if it is only declared, for administration"]]
      end

      EOFED = lambda do |topic, eofed, _settings|
        next [] unless eofed && topic.kafka[:"enable.partition.eof"] == false

        [["eofed needs enable.partition.eof, which kafka sets to false", "Remove enable.partition.eof"]]
      end

      # The settings are checked in the schema.
      PAUSE = lambda do |_topic, pause, settings|
        next [] if pause.timeout <= pause.max_timeout || pause.to_a == settings.pause.to_a

        [["pause timeout (#{pause.timeout}) is above its max_timeout (#{pause.max_timeout})",
          "Values that a topic doesn't set come from config.pause"]]
      end
    end
  end
end
