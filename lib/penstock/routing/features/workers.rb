# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A topic's share of the workers: how many it may hold at most (nil: what all others have), and who comes first where more is
    # ready than there are workers.
    Workers = Struct.new(:max, :priority, :weight) do
      include FrozenStruct

      # @return [Boolean] whether it isn't a topic like any other
      def ranked? = !(priority.zero? && weight == 1)

      # @param running [Integer] workers the topic holds now
      # @return [Array] the least comes first
      def rank(running) = [-priority, running.fdiv(weight)]
    end

    module Features
      # `workers max: 3`, `workers priority: 1, weight: 2`
      module Workers
        OPTIONS = {
          max: Feature::Option.new(Config::Types::Whole.new(min: 1), nil),
          priority: Feature::Option.new(Config::Types::Whole.new(min: -100, max: 100), 0),
          weight: Feature::Option.new(Config::Types::Whole.new(min: 1, max: 100), 1)
        }.freeze
        private_constant :OPTIONS

        # @return [Feature] whose value is nil where a topic is like any other
        def self.feature
          Feature.new(:workers, positional: :max, options: OPTIONS,
            value: ->(max:, priority:, weight:) { Routing::Workers.new(max, priority, weight) },
            description: "`max`: most workers on this topic at once. Where more is ready than there are workers, a higher " \
                         "`priority` goes first; within the same, workers are shared by `weight`.")
        end
      end
    end
  end
end
