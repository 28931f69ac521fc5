# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `delay_by 60_000`
      module DelayBy
        CHECK = lambda do |topic, delay, _settings|
          ttl = topic.features[:expire_in]
          next [] if delay.nil? || ttl.nil? || delay < ttl

          [["delay_by (#{delay}) isn't below expire_in (#{ttl}): every message would expire before it is due",
            "Both count from the message's timestamp"]]
        end

        SURPLUS = "A topic has one delay for all messages; for other rules write a filter that pauses: " \
          "filter ->(topic, partition) { YourFilter.new }"
        private_constant :SURPLUS

        # @return [Feature]
        def self.feature
          Feature.new(:delay_by, positional: :value, value: ->(value:) { value }, check: CHECK, surplus: SURPLUS,
            options: {value: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), Feature::REQUIRED)},
            description: "No message is consumed before it has this age; later messages wait for it.")
        end
      end
    end
  end
end
