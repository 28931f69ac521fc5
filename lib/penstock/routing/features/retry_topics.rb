# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"
require_relative "dead_letter_queue"

module Penstock
  module Routing
    # Topics that failed records go through, one a delay, instead of holding up those behind them. `tier` is the place of a
    # topic in that row: 0 is the topic itself, 1 the first retry topic. `oversized` is as of {DeadLetterQueue}.
    RetryTopics = Struct.new(:source, :delays, :finally, :tier, :oversized) do
      include FrozenStruct

      # @return [Array<String>] the retry topics, in the order in which a record goes through them
      def names = Array.new(delays.size) { |index| name(index + 1) }

      # @return [String, false, nil] where a record goes that fails here; false: it is skipped
      def following = last? ? finally : name(tier + 1)

      # @return [Integer, nil] ms it waits there; nil where it ends
      def delay_ms = delays[tier]

      # @return [Boolean] whether a record that fails here is dead
      def last? = tier >= delays.size

      # @return [Boolean] whether its records carry the time at which they are due
      def delayed? = tier.positive?

      # @return [RetryTopics] the same, that knows its topic
      def of(name) = source ? self : self.class.new(name, delays, finally, tier, oversized)

      # @return [RetryTopics] the same, for another place in the row
      def at(tier) = self.class.new(source, delays, finally, tier, oversized)

      # @return [Boolean] whether a record that is too large goes to the dead letters, without what doesn't fit
      def reference? = oversized == "reference"

      private

      # Keeps to the separator of the topic: mixing dots and underscores confuses metrics.
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
          oversized: Feature::Option.new(DeadLetterQueue::OVERSIZED, "wait")
        }.freeze

        CHECK = lambda do |topic, tiers, _settings|
          tiers&.tier&.zero? ? RetryTopics.problems(topic, tiers) : []
        end

        class << self
          # @return [Feature]
          def feature
            Feature.new(:retry_topics, options: OPTIONS, check: CHECK, derived: method(:topics),
              description: "Retries in topics of their own, one a delay, so that nothing waits behind a failed record; " \
                           "`finally` is the dead letter topic, false skips. Gives up the order of those records.",
              value: ->(delays:, finally:, oversized:) { Routing::RetryTopics.new(nil, delays, finally, 0, oversized) })
          end

          # @return [Array<(String, Routing::RetryTopics)>]
          def topics(name, tiers)
            return [] if tiers.nil? || tiers.tier.positive?

            own = tiers.of(name)
            own.names.each_with_index.map { |retry_topic, index| [retry_topic, own.at(index + 1)] }
          end

          def problems(topic, tiers)
            [
              (["retry_topics can't be made for a pattern", "Draw a topic, or use dead_letter_queue"] if topic.pattern?),
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

            ["retry_topics oversized: :reference has nowhere to put a record that is too large to wait: `finally:` is false",
              "Name a dead letter topic as `finally:`, or leave it out"]
          end
        end
      end
    end
  end
end
