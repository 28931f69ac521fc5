# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `isolate false`
      module Isolate
        # @return [Feature]
        def self.feature
          Feature.new(:isolate, options: {value: Feature::Option.new(Config::Types::Flag.new, true)}, positional: :value,
            absent: true, value: ->(value:) { value },
            description: "After a failure the remaining records run one at a time until the failed one has passed, so that " \
                         "only the failed one is retried and dead-lettered; false retries the rest as a batch.")
        end
      end
    end
  end
end
