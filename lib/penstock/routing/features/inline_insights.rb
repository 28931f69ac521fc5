# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A consumer's statistics; `required`: nothing is consumed before statistics are available.
    InlineInsights = Struct.new(:required) do
      include FrozenStruct

      alias_method :required?, :required
    end

    module Features
      # `inline_insights true`, `inline_insights(required: true)`
      module InlineInsights
        CHECK = lambda do |topic, insights, _settings|
          next [] unless insights && topic.kafka[:"statistics.interval.ms"].to_s == "0"

          [["inline_insights needs statistics, which kafka switches off (statistics.interval.ms: 0)",
            "Remove statistics.interval.ms, or set it above 0"]]
        end

        # @return [Feature] whose value is nil if it is off
        def self.feature
          flag = Config::Types::Flag.new
          Feature.new(:inline_insights, positional: :active, check: CHECK,
            options: {active: Feature::Option.new(flag, true), required: Feature::Option.new(flag, false)},
            description: "Whether consumers have the client's statistics of their partition as `insights`; with `required` " \
                         "nothing is consumed before they are available.",
            value: ->(active:, required:) { active ? Routing::InlineInsights.new(required) : nil })
        end
      end
    end
  end
end
