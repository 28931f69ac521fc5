# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # How often a record may take the process with it before it is put away unread.
    Quarantine = Struct.new(:max_crashes) do
      include FrozenStruct
    end

    module Features
      # `quarantine max_crashes: 3`, `quarantine false`
      module Quarantine
        OPTIONS = {
          active: Feature::Option.new(Config::Types::Flag.new, true),
          max_crashes: Feature::Option.new(Config::Types::Whole.new(min: 1, max: 100), 3)
        }.freeze

        DEFAULT = Routing::Quarantine.new(3)

        # @return [Feature] whose value is nil where the topic says nothing, false where it wants none
        def self.feature
          Feature.new(:quarantine, options: OPTIONS, positional: :active,
            description: "How often a record may kill the process before it goes to the dead letters unread; without a dead " \
                         "letter topic it is skipped. On (3) where there is one.",
            value: ->(active:, max_crashes:) { active && Routing::Quarantine.new(max_crashes) })
        end
      end
    end
  end
end
