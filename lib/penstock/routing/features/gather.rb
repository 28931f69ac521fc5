# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A partition waits until `min` messages are available, or `within` ms have passed since the first of them arrived.
    Batch = Struct.new(:min, :within) do
      include FrozenStruct
    end

    module Features
      # `batch min: 500, within: 1_000`
      module Batch
        CHECK = lambda do |topic, batch, settings|
          next [] unless batch
          found = []
          if batch.min > topic.max_messages
            found << ["batch waits for #{batch.min} messages, but one call of consume gets at most #{topic.max_messages}",
              "Raise max_messages to #{batch.min}, or lower min"]
          end
          if batch.within >= settings.shutdown_timeout
            found << ["batch within: (#{batch.within}) isn't below config.shutdown_timeout (#{settings.shutdown_timeout})",
              "Lower within:"]
          end
          found
        end

        # @return [Feature] whose value is nil if nothing waits
        def self.feature
          Feature.new(:batch, check: CHECK, value: ->(min:, within:) { Routing::Batch.new(min, within) },
            options: {min: Feature::Option.new(Config::Types::Whole.new(min: 2), Feature::REQUIRED),
                      within: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), 1_000)},
            description: "Holds a partition until `min` messages are available or `within` ms have passed since the first " \
                         "one arrived. Without it a batch contains the messages that are available when a worker is free.")
        end
      end
    end
  end
end
