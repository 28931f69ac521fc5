# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A topic's share of the workers: the maximum it may hold (nil: no limit of its own), and its rank when more units
    # are ready than there are workers.
    Workers = Struct.new(:max, :priority, :weight) do
      include FrozenStruct

      # @return [Boolean] whether it differs from the default
      def ranked? = !(priority.zero? && weight == 1)

      # @param running [Integer] workers the topic holds now
      # @return [Array] the lowest comes first
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

        # @return [Feature] whose value is nil for a topic with the defaults
        def self.feature
          Feature.new(:workers, positional: :max, options: OPTIONS,
            value: ->(max:, priority:, weight:) { Routing::Workers.new(max, priority, weight) },
            description: "`max`: maximum number of workers on this topic. If more units are ready than there are workers, a " \
                         "higher `priority` goes first; topics of the same priority share workers by `weight`.")
        end
      end
    end
  end
end
