# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A filter of a route: a factory that creates a filter object for each partition, or a block that decides for each
    # message whether it is kept.
    Filter = Struct.new(:factory, :keep) do
      include FrozenStruct
    end

    module Features
      # `filter(->(topic, partition) { OfficeHours.new })`, `filter { |message| message.key }`
      module Filter
        CALLABLE = Config::Types::Responding.new(:call)
        private_constant :CALLABLE

        CHECK = lambda do |_topic, filters, _settings|
          filters.flat_map { |filter| Features::Filter.complaints(filter) }.uniq
        end

        class << self
          # @return [Feature] whose value is an Array, in the order in which the filters run
          def feature
            Feature.new(:filter, positional: :factory, block: :keep, repeatable: true, absent: [].freeze, check: CHECK,
              options: {factory: Feature::Option.new(CALLABLE, nil), keep: Feature::Option.new(CALLABLE, nil)},
              description: "Removes messages before `consume`: a block that returns whether a message is kept, or a callable " \
                           "with topic and partition that creates a filter object. May be used several times.",
              value: ->(factory:, keep:) { Routing::Filter.new(factory, keep) })
          end

          # @param filter [Routing::Filter]
          # @return [Array<(String, String)>] messages and hints
          def complaints(filter)
            return (filter.keep ? both : factory(filter.factory)) if filter.factory
            filter.keep ? Arity.complaints("filter's block", filter.keep, %w[message]) : none
          end

          private

          def factory(factory)
            Arity.complaints("filter's factory", factory, %w[topic partition],
              ". To decide for each message write filter { |message| … }")
          end

          def both = [["filter has a factory and a block", "Write two filters; they run in the order of the route"]]

          def none
            [["filter has neither a factory nor a block",
              "Write filter { |message| … } to keep some messages, or filter ->(topic, partition) { YourFilter.new }"]]
          end
        end
      end
    end
  end
end
