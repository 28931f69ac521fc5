# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The number of connections of a subscription group: constant if `min` and `max` are equal, else between them,
    # beginning with `boot`, with at most one change per `scale_delay` ms.
    Multiplexing = Struct.new(:min, :max, :boot, :scale_delay) do
      include FrozenStruct

      # @return [Boolean] whether the number of connections changes
      def dynamic? = min < max
    end

    module Features
      # `multiplexing`: several connections of one subscription group.
      module Multiplexed
        COUNT = Config::Types::Whole.new(min: 1)
        OPTIONAL = Config::Types::Either.new(COUNT, nil_allowed: true)
        SCALE_DELAY_MS = 60_000
        private_constant :COUNT, :OPTIONAL, :SCALE_DELAY_MS

        class << self
          # @return [Feature] of subscription groups
          def feature
            option = ->(type, default) { Feature::Option.new(type, default) }
            Feature.new(:multiplexing, options: {
              max: option.call(COUNT, Feature::REQUIRED), min: option.call(OPTIONAL, nil), boot: option.call(OPTIONAL, nil),
              scale_delay: option.call(Config::Types::Milliseconds.new(min: 1), SCALE_DELAY_MS)
            }, value: method(:value), description: "Several connections, each a member of the group. With `min` below `max` " \
              "their number changes; `boot` is the number at the start.")
          end

          # @param group [SubscriptionGroup]
          # @param settings [Config::Settings]
          # @return [Array<(String, String)>] messages and hints
          def complaints(group, settings)
            found = numbers(group.multiplexing)
            found << DIRECT if group.direct?
            return found unless group.multiplexing.dynamic?

            found << STATISTICS if group.kafka[:"statistics.interval.ms"].to_s == "0"
            found << STATIC if settings.static_membership || group.kafka[:"group.instance.id"]
            found
          end

          private

          def value(max:, min:, boot:, scale_delay:)
            least = min || max
            Multiplexing.new(least, max, boot || ((least < max) ? [max / 2, least].max : max), scale_delay)
          end

          def numbers(asked)
            found = []
            found << ONE if asked.max < 2
            found << ["multiplexing min (#{asked.min}) is above its max (#{asked.max})", "Lower min"] if asked.min > asked.max
            unless asked.boot.between?(asked.min, asked.max) || asked.min > asked.max
              found << ["multiplexing boot (#{asked.boot}) is not between min (#{asked.min}) and max (#{asked.max})",
                "Remove boot"]
            end
            found
          end
        end

        ONE = ["multiplexing needs more than one connection", "Raise max, or remove multiplexing"].freeze
        DIRECT = ["multiplexing can't be used with assign: each connection would read the same partitions",
          "Remove one of them; several subscription groups can divide the partitions"].freeze
        STATISTICS = ["multiplexing with min below max needs statistics, which statistics.interval.ms 0 turns off",
          "Remove statistics.interval.ms, or set only max"].freeze
        STATIC = ["multiplexing with min below max can't be used with static membership: a closed connection would " \
          "stay a member, and get partitions, until its session times out", "Set only max"].freeze
        private_constant :ONE, :DIRECT, :STATISTICS, :STATIC
      end
    end
  end
end
