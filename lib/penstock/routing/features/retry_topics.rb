# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"
require_relative "dead_letter_queue"

module Penstock
  module Routing
    # Topics that failed records pass through, one per delay, instead of holding up later records. `tier` is a topic's
    # position in this sequence: 0 is the topic itself, 1 the first retry topic. `oversized` as in {DeadLetterQueue}.
    # `unreadable`: how many retry topics a record passes that can't be deserialized; nil: all.
    RetryTopics = Struct.new(:source, :delays, :finally, :tier, :oversized, :unreadable) do
      include FrozenStruct

      # @return [Array<String>] the retry topics, in the order in which a record passes through them
      def names = Array.new(delays.size) { |index| name(index + 1) }

      # @return [String, false, nil] the topic of a record that fails here; false: it is skipped
      def following = last? ? finally : name(tier + 1)

      # @return [Integer, nil] ms it waits there; nil after the last one
      def delay_ms = delays[tier]

      # @return [Boolean] whether a record that fails here is dead-lettered
      def last? = tier >= delays.size

      # @return [Boolean] whether its records have a header with their due time
      def delayed? = tier.positive?

      # @return [Integer, nil] longest wait of a record for that time, see {Feature}
      def due_within_ms = (delays[tier - 1] if delayed?)

      # @return [RetryTopics] a copy that knows its topic
      def of(name) = source ? self : self.class.new(name, delays, finally, tier, oversized, unreadable)

      # @return [RetryTopics] a copy for another tier
      def at(tier) = self.class.new(source, delays, finally, tier, oversized, unreadable)

      # @return [Boolean] whether a record that is too large is dead-lettered without its largest parts
      def reference? = oversized == "reference"

      private

      # Uses the separator of the topic's name: mixing dots and underscores makes metrics ambiguous.
      def name(tier)
        separator = source[/[._-]/] || "."
        [source, "retry", tier].join(separator)
      end
    end

    module Features
      # `retry_topics delays: [5_000, 60_000], finally: "orders.dead"`
      module RetryTopics
        # One to ten waits, in ms, the shortest first.
        class Delays
          MOST = 10
          MS = Config::Types::Milliseconds.new(min: 1)
          private_constant :MS

          def coerce(value)
            return Config::Types::INVALID unless value.is_a?(Array) && value.size.between?(1, MOST)

            typed = value.map { |one| MS.coerce(one) }
            (typed.any? { |one| Config::Types.invalid?(one) }) ? Config::Types::INVALID : typed.freeze
          end

          def to_s = "an Array of 1 to #{MOST} waits, each #{MS}"
        end

        OPTIONS = {
          delays: Feature::Option.new(Delays.new, Feature::REQUIRED),
          finally: Feature::Option.new(Config::Types::Either.new(Config::Types::Flag.new, Config::Types::Name.new),
            Feature::REQUIRED),
          oversized: Feature::Option.new(DeadLetterQueue::OVERSIZED, "wait"),
          unreadable: Feature::Option.new(DeadLetterQueue::UNREADABLE, nil)
        }.freeze

        CHECK = lambda do |topic, tiers, _settings|
          tiers&.tier&.zero? ? RetryTopics.problems(topic, tiers) : []
        end

        class << self
          # @return [Feature]
          def feature
            Feature.new(:retry_topics, options: OPTIONS, check: CHECK, derived: method(:topics),
              description: "Retries in topics of their own, one per delay, so that no record waits for a failed one; " \
                           "`finally` is the dead letter topic, false skips. The order of those records is lost.",
              value: lambda do |delays:, finally:, oversized:, unreadable:|
                Routing::RetryTopics.new(nil, delays, finally, 0, oversized, unreadable)
              end)
          end

          # @return [Array<(String, Routing::RetryTopics)>]
          def topics(name, tiers)
            return [] if tiers.nil? || tiers.tier.positive?

            own = tiers.of(name)
            own.names.each_with_index.map { |retry_topic, index| [retry_topic, own.at(index + 1)] }
          end

          def problems(topic, tiers)
            [
              (["retry_topics can't be used with a pattern", "Use dead_letter_queue, or one route per topic"] if topic.pattern?),
              (["has both retry_topics and dead_letter_queue", "Name the dead letter topic as `finally:`"] if
                topic.features[:dead_letter_queue]&.active?),
              (["retry_topics finally: is true", "Give the name of a topic, or false to skip"] if tiers.finally == true),
              (["is its own dead letter topic", "Name another one as `finally:`"] if topic.active? &&
                [topic.name, *tiers.of(topic.name).names].include?(tiers.finally)),
              nowhere_problem(tiers)
            ].compact
          end

          def nowhere_problem(tiers)
            return unless tiers.finally == false && tiers.reference?

            ["retry_topics oversized: :reference has no topic for a record that is too large: `finally:` is false",
              "Name a dead letter topic as `finally:`, or remove it"]
          end
        end
      end
    end
  end
end
