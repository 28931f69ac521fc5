# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # How a partition's records run in parallel. `by` is :key, :message or a callable that returns a message's key; with
    # `distribution` :consistent the reducer maps a key to a slot's number. With `text_keys` the key is the text of what the
    # callable returns, also of nil, as in Karafka's virtual partitions: no record is without a key, and 1 and "1" are one key.
    Parallel = Struct.new(:by, :max_partitions, :reducer, :distribution, :offset_metadata_strategy, :text_keys) do
      include FrozenStruct

      # @return [Boolean] whether each record runs alone, in no order
      def message? = by == :message

      # @return [#call, nil] returns a message's key; nil if the key is the record's own
      def partitioner = by.is_a?(Symbol) ? nil : by

      # @return [Boolean] whether a key always runs on the same instance
      def consistent? = distribution == :consistent
    end

    module Features
      # `parallel by: :key`, `virtual_partitions(partitioner: ->(message) { message.headers["tenant"] }, max_partitions: 20)`
      module Parallel
        CALLABLE = Config::Types::Responding.new(:call)
        BY = Config::Types::Either.new(Config::Types::Word.new("key", "message"), CALLABLE)
        OPTIONS = {
          by: Feature::Option.new(BY, "key"),
          max_partitions: Feature::Option.new(Config::Types::Whole.new(min: 1), :concurrency.to_proc),
          reducer: Feature::Option.new(CALLABLE, nil),
          distribution: Feature::Option.new(Config::Types::Word.new("rolling", "balanced", "consistent"), "rolling"),
          offset_metadata_strategy: Feature::Option.new(Config::Types::Word.new("current", "exact"), "current")
        }.freeze
        private_constant :CALLABLE, :BY, :OPTIONS

        CHECK = lambda do |_topic, parallel, _settings|
          next [] unless parallel
          found = Arity.complaints("parallel by:", parallel.partitioner, %w[message]) +
            Arity.complaints("parallel reducer:", parallel.reducer, %w[key])
          if parallel.message? && parallel.consistent?
            found << ["distribution: :consistent binds keys to instances, but with by: :message there are no keys",
              "Remove distribution, or set by: :key"]
          end
          if parallel.reducer && !parallel.consistent?
            found << ["reducer needs distribution: :consistent: without it keys aren't bound to numbers",
              "Remove reducer: any free worker takes the next key"]
          end
          found
        end

        # @return [Feature] whose value is nil if records run in the partition's order
        def self.feature
          Feature.new(:parallel, aliases: [:virtual_partitions], positional: :by, block: :by,
            renamed: {partitioner: :by, max: :max_partitions}, implied: {virtual_partitions: {text_keys: true}},
            options: OPTIONS, check: CHECK, value: method(:value),
            description: "Runs records of a partition in parallel, in order by key (`by: :key`, or a callable that returns a " \
                         "message's key) or in no order (`by: :message`); at most `max_partitions` at once per partition, " \
                         "by default `concurrency`.")
        end

        # Other frameworks' `balanced` is the normal behaviour: a free worker takes the next key.
        def self.value(by:, max_partitions:, reducer:, distribution:, offset_metadata_strategy:, text_keys: false)
          named = by.is_a?(String)
          Routing::Parallel.new(named ? by.to_sym : by, max_partitions, reducer,
            (distribution == "consistent") ? :consistent : :rolling, offset_metadata_strategy.to_sym, text_keys && !named)
        end
      end
    end
  end
end
