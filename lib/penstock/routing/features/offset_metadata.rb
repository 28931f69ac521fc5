# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../arity"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # Deserializes the metadata of a committed offset when a consumer reads it.
    OffsetMetadata = Struct.new(:cache, :deserializer) do
      include FrozenStruct

      # @param metadata [String, nil]
      # @return [Object, nil]
      def read(metadata) = metadata.nil? ? nil : deserializer.call(metadata)
    end

    module Features
      # `offset_metadata(deserializer: ->(string) { JSON.parse(string) })`
      module OffsetMetadata
        AS_IT_IS = ->(metadata) { metadata }
        DEFAULT = Routing::OffsetMetadata.new(true, AS_IT_IS)

        CHECK = lambda do |_topic, option, _settings|
          Arity.complaints("offset_metadata deserializer:", option.deserializer, %w[metadata])
        end

        # @return [Feature]
        def self.feature
          default = ->(_settings) { AS_IT_IS } # a default that is callable is called with the settings
          Feature.new(:offset_metadata, absent: DEFAULT, check: CHECK,
            options: {cache: Feature::Option.new(Config::Types::Flag.new, true),
                      deserializer: Feature::Option.new(Config::Types::Responding.new(:call, optional: false), default)},
            description: "Deserializer of the String that was committed with an offset, for the consumer's " \
                         "`offset_metadata`. `cache` is accepted, without effect: it is always in memory.",
            value: ->(cache:, deserializer:) { Routing::OffsetMetadata.new(cache, deserializer) })
        end
      end
    end
  end
end
