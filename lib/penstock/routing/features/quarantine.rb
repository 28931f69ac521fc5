# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The number of crashes after which a record is dead-lettered or skipped without running it again.
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

        # @return [Feature] whose value is nil if the topic doesn't set it, false if it is switched off
        def self.feature
          Feature.new(:quarantine, options: OPTIONS, positional: :active,
            description: "How often a record may kill the process before it is dead-lettered without running again; without " \
                         "a dead letter topic it is skipped. On by default (3) for topics with one.",
            value: ->(active:, max_crashes:) { active && Routing::Quarantine.new(max_crashes) })
        end
      end
    end
  end
end
