# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `time_limit 60_000`
      module TimeLimit
        # @return [Feature]
        def self.feature
          Feature.new(:time_limit, positional: :value, value: ->(value:) { value },
            options: {value: Feature::Option.new(Config::Types::Milliseconds.new(min: 100), Feature::REQUIRED)},
            description: "Time limit of one call of `consume`. Then `Penstock::TimeLimitExceeded` is raised in it, and " \
                         "if it still runs 5 s later the process ends. Off by default.")
        end
      end
    end
  end
end
