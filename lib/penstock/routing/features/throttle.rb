# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # At most `limit` messages of a partition in any `interval` ms; `per` is :partition, or :key for a limit of each key.
    Throttle = Struct.new(:limit, :interval, :per) do
      include FrozenStruct

      def per_key? = per == :key
    end

    module Features
      # `throttle(limit: 100, interval: 60_000)`
      module Throttle
        CHECK = lambda do |topic, throttle, _settings|
          next Throttle.key_problems(topic.features[:parallel]) if throttle&.per_key?
          batch = topic.features[:batch]
          next [] unless throttle && batch&.min && throttle.limit < batch.min

          [["throttle admits #{throttle.limit} messages, but batch waits for #{batch.min}: it would always wait for `within`",
            "Set batch min: to at most the limit"]]
        end

        NO_KEYS = [["throttle per: :key needs parallel by: :key: otherwise a key that waits would stop its whole partition",
          "Add parallel by: :key, or remove per: :key"]].freeze
        private_constant :NO_KEYS

        # @return [Feature]
        def self.feature
          Feature.new(:throttle, aliases: [:throttling], check: CHECK,
            options: {limit: Feature::Option.new(Config::Types::Whole.new(min: 1), Feature::REQUIRED),
                      interval: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), Feature::REQUIRED),
                      per: Feature::Option.new(Config::Types::Word.new("partition", "key"), "partition")},
            description: "At most `limit` messages per partition, or `per: :key` of each key of a partition, in any `interval` " \
                         "ms; a new assignment begins at zero.",
            value: ->(limit:, interval:, per:) { Routing::Throttle.new(limit, interval, per.to_sym) })
        end

        # Where records run in order, a key that waits would hold all the others of its partition.
        def self.key_problems(parallel)
          return NO_KEYS if parallel.nil? || parallel.message?
          return [] unless parallel.consistent?

          [["throttle per: :key can't be used with distribution: :consistent, where several keys share a slot",
            "Remove distribution"]]
        end
      end
    end
  end
end
