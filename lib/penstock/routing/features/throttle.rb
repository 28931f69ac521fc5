# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # At most `limit` messages of a partition in any `interval` ms.
    Throttle = Struct.new(:limit, :interval) do
      include FrozenStruct
    end

    module Features
      # `throttle(limit: 100, interval: 60_000)`
      module Throttle
        CHECK = lambda do |topic, throttle, _settings|
          batch = topic.features[:batch]
          next [] unless throttle && batch && throttle.limit < batch.min

          [["throttle admits #{throttle.limit} messages, but batch waits for #{batch.min}: it would always wait for `within`",
            "Set batch min: to at most the limit"]]
        end

        # @return [Feature]
        def self.feature
          Feature.new(:throttle, aliases: [:throttling], check: CHECK,
            options: {limit: Feature::Option.new(Config::Types::Whole.new(min: 1), Feature::REQUIRED),
                      interval: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), Feature::REQUIRED)},
            description: "At most `limit` messages per partition in any `interval` ms; a new assignment begins at zero.",
            value: ->(limit:, interval:) { Routing::Throttle.new(limit, interval) })
        end
      end
    end
  end
end
