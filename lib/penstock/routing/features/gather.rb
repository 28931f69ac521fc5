# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # A partition waits until `min` messages or `bytes` bytes are available, or `within` ms have passed since the first of them
    # arrived. One of `min` and `bytes` may be nil.
    Batch = Struct.new(:min, :within, :bytes) do
      include FrozenStruct
    end

    module Features
      # `batch min: 500, within: 1_000`, `batch bytes: 1_048_576`
      module Batch
        # As much as all partitions together may take at once.
        MOST_BYTES = 64 * 1024 * 1024
        OPTIONS = {
          min: Feature::Option.new(Config::Types::Either.new(Config::Types::Whole.new(min: 2), nil_allowed: true), nil),
          within: Feature::Option.new(Config::Types::Milliseconds.new(min: 1), 1_000),
          bytes: Feature::Option.new(Config::Types::Either.new(Config::Types::Whole.new(min: 1, max: MOST_BYTES),
            nil_allowed: true), nil)
        }.freeze
        private_constant :MOST_BYTES, :OPTIONS

        CHECK = lambda do |topic, batch, settings|
          batch ? [*Batch.size_problems(topic, batch), *Batch.within_problem(batch, settings)] : []
        end

        class << self
          # @return [Feature] whose value is nil if nothing waits
          def feature
            Feature.new(:batch, check: CHECK, options: OPTIONS,
              value: ->(min:, within:, bytes:) { Routing::Batch.new(min, within, bytes) },
              description: "Holds a partition until `min` messages or `bytes` bytes are available, or `within` ms have passed " \
                           "since the first one arrived. Without it a batch contains the messages that are available when a " \
                           "worker is free.")
          end

          def size_problems(topic, batch)
            return [["batch has neither min: nor bytes:", "Write batch min: 500, or batch bytes: 1_048_576"]] unless
              batch.min || batch.bytes
            return [] unless batch.min && batch.min > topic.max_messages

            [["batch waits for #{batch.min} messages, but one call of consume gets at most #{topic.max_messages}",
              "Raise max_messages to #{batch.min}, or lower min"]]
          end

          def within_problem(batch, settings)
            return unless batch.within >= settings.shutdown_timeout

            [["batch within: (#{batch.within}) isn't below config.shutdown_timeout (#{settings.shutdown_timeout})",
              "Lower within:"]]
          end
        end
      end
    end
  end
end
