# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `interruptible`
      module Interruptible
        # @return [Feature]
        def self.feature
          Feature.new(:interruptible, positional: :value, value: ->(value:) { value }, absent: false,
            options: {value: Feature::Option.new(Config::Types::Flag.new, true)},
            description: "Whether what still runs when its partition must be given back is interrupted " \
                         "(`Penstock::Interrupted`) instead of running on for nobody.")
        end
      end
    end
  end
end
