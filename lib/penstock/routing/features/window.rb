# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The maximum amount of a partition's records in progress; nil for limits that aren't set.
    Window = Struct.new(:records, :bytes) do
      include FrozenStruct
    end

    module Features
      # `window records: 5_000, bytes: 33_554_432`
      module Window
        CHECK = lambda do |topic, window, _settings|
          next [] unless window&.records
          batch = topic.features[:batch]
          found = []
          if window.records < 2 * topic.max_messages
            found << ["window records: (#{window.records}) is below twice max_messages (#{topic.max_messages}); workers " \
              "would wait",
              "Give at least #{2 * topic.max_messages}, or lower max_messages"]
          end
          if batch&.min && window.records < batch.min
            found << ["window records: (#{window.records}) is below batch min: (#{batch.min}), which would never be reached",
              "Give at least #{batch.min}"]
          end
          found
        end

        # @return [Feature] whose value is nil if the settings apply
        def self.feature
          Feature.new(:window, check: CHECK, value: ->(records:, bytes:) { Routing::Window.new(records, bytes) },
            options: {records: Feature::Option.new(Config::Types::Whole.new(min: 2), nil),
                      bytes: Feature::Option.new(Config::Types::Whole.new(min: 1_024), nil)},
            description: "Maximum number of messages, and of bytes, of a partition in progress: waiting, running, or waiting " \
                         "for their next attempt. Missing values come from the settings.")
        end
      end
    end
  end
end
