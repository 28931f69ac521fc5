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
            description: "Whether units that still run when their partition must be revoked are interrupted " \
                         "(`Penstock::Interrupted`) instead of running on although the next owner repeats them.")
        end
      end
    end
  end
end
