# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `expire_in 3_600_000`
      module ExpireIn
        # @return [Feature]
        def self.feature
          Feature.new(:expire_in, positional: :value, value: ->(value:) { value },
            options: {value: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), Feature::REQUIRED)},
            description: "Messages older than this are not consumed and count as complete; also checked before a retry.")
        end
      end
    end
  end
end
