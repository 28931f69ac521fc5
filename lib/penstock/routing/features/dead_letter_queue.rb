# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # Where and when permanently failing records are sent. `topic` is a name; false: such records are skipped; nil:
    # there is no dead letter queue; :strategy: the strategy selects the topic.
    # `unreadable`: retries of records that can't be deserialized; nil: as for other errors.
    DeadLetterQueue = Struct.new(:topic, :max_retries, :strategy, :independent, :transactional, :dispatch_method,
      :marking_method, :mark_after_dispatch, :oversized, :unreadable, keyword_init: true) do
      include FrozenStruct

      # @return [Boolean]
      def active? = !topic.nil?

      # @return [Boolean] whether a strategy is called at each failure
      def strategy? = !strategy.nil?

      # @return [String, nil] the topic of records for which nothing selects another one
      def topic_name = topic.is_a?(String) ? topic : nil

      # @return [Boolean] whether a letter that is too large is sent without its largest parts
      def reference? = oversized == "reference"

      # @return [Boolean] whether the offset is committed as soon as a dead letter was acknowledged
      def commit_at_once? = marking_method == "mark_as_consumed!"
    end

    module Features
      # `dead_letter_queue topic: "orders.dead", max_retries: 3`
      module DeadLetterQueue
        # A name, false, :strategy, or nil for none.
        class Destination
          NAME = Config::Types::Name.new
          private_constant :NAME

          def coerce(value)
            return value if value.nil? || value == false || value == :strategy

            NAME.coerce(value)
          end

          def to_s = "#{NAME}, or false (skips), or :strategy, or nil (none)"
        end

        FLAG = Config::Types::Flag.new
        # The handling of a letter that is too large for its topic.
        OVERSIZED = Config::Types::Word.new("wait", "reference")
        # Retries of records that can't be deserialized.
        UNREADABLE = Config::Types::Either.new(Config::Types::Whole.new(min: 0), nil_allowed: true)
        UNREADABLE_STRATEGY = [["dead_letter_queue has both unreadable: and strategy:, which decides about all errors",
          "Remove unreadable:; the strategy can check whether errors.last is a Penstock::DeserializationError"]].freeze
        private_constant :FLAG, :UNREADABLE_STRATEGY

        OPTIONS = {
          topic: Feature::Option.new(Destination.new, Feature::REQUIRED),
          max_retries: Feature::Option.new(Config::Types::Whole.new(min: 0), 3),
          strategy: Feature::Option.new(Config::Types::Responding.new(:call), nil),
          independent: Feature::Option.new(FLAG, true),
          transactional: Feature::Option.new(FLAG, true),
          dispatch_method: Feature::Option.new(Config::Types::Word.new("produce_async", "produce_sync"), "produce_async"),
          marking_method: Feature::Option.new(Config::Types::Word.new("mark_as_consumed", "mark_as_consumed!"),
            "mark_as_consumed"),
          mark_after_dispatch: Feature::Option.new(Config::Types::Either.new(FLAG, nil_allowed: true), nil),
          oversized: Feature::Option.new(OVERSIZED, "wait"),
          unreadable: Feature::Option.new(UNREADABLE, nil)
        }.freeze

        CHECK = lambda do |topic, queue, _settings|
          next [] unless queue&.active?
          [*DeadLetterQueue.loop_problem(topic, queue), *DeadLetterQueue.strategy_problem(queue),
            *DeadLetterQueue.nowhere_problem(queue), *DeadLetterQueue.unreadable_problem(queue),
            *Arity.complaints("dead_letter_queue strategy:", queue.strategy, %w[errors attempt])]
        end

        class << self
          # @return [Feature]
          def feature
            Feature.new(:dead_letter_queue, options: OPTIONS, check: CHECK,
              description: "Where records are sent that still fail after `max_retries`; false skips them. See errors.md.",
              value: ->(**options) { Routing::DeadLetterQueue.new(**options) })
          end

          # A dead letter must not be consumed by the same route. A topic that isn't consumed may get this option from
          # `defaults`.
          def loop_problem(topic, queue)
            return unless queue.topic_name && topic.active?

            if topic.pattern?
              return unless topic.pattern.match?(queue.topic_name)
              return [["its pattern also matches its dead letter topic #{queue.topic_name}", "Rename the dead letter topic"]]
            end
            [["is its own dead letter topic", "Name another one"]] if queue.topic_name == topic.name
          end

          def nowhere_problem(queue)
            return unless queue.topic == false && queue.reference?

            [["dead_letter_queue oversized: :reference has no topic: with topic: false there are no letters",
              "Remove it, or name a topic"]]
          end

          def unreadable_problem(queue)
            return unless queue.unreadable
            return UNREADABLE_STRATEGY if queue.strategy?
            return unless queue.unreadable > queue.max_retries

            [["dead_letter_queue unreadable: (#{queue.unreadable}) is above max_retries: (#{queue.max_retries})",
              "Lower it: it is meant for fewer retries"]]
          end

          def strategy_problem(queue)
            return unless queue.topic == :strategy && !queue.strategy?

            [["dead_letter_queue topic: :strategy needs a strategy:", "Give an object with `call(errors_tracker, attempt)`"]]
          end
        end
      end
    end
  end
end
