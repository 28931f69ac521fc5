# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"
require_relative "../header_name"
require_relative "../option_values"

module Penstock
  module Routing
    # The age before which no message is consumed: `delay_ms` for all of them, unless a message's `header` has another number of
    # ms, of which at most `max` count; all may be nil, but not at once.
    DelayBy = Struct.new(:delay_ms, :header, :max) do
      include FrozenStruct

      # @return [Integer] longest wait of a message in ms
      def longest_ms = [delay_ms, max].compact.max
    end

    module Features
      # `delay_by 60_000`, `delay_by header: "delay_ms", max: 600_000`
      module DelayBy
        CHECK = lambda do |topic, delay, _settings|
          next [] unless delay

          [*DelayBy.header_problem(delay), *DelayBy.expiry_problem(delay, topic.features[:expire_in])]
        end

        SURPLUS = "For a delay of each message's own write delay_by header: \"delay_ms\", max: 600_000; for other rules " \
          "write a filter that pauses: filter ->(topic, partition) { YourFilter.new }"
        TIME = Config::Types::Either.new(Config::Types::Milliseconds.new(min: 1), nil_allowed: true)
        OPTIONS = {
          value: Feature::Option.new(TIME, nil), header: Feature::Option.new(HeaderName.new, nil),
          max: Feature::Option.new(TIME, nil)
        }.freeze
        private_constant :SURPLUS, :TIME, :OPTIONS

        class << self
          # @return [Feature]
          def feature
            Feature.new(:delay_by, positional: :value, check: CHECK, surplus: SURPLUS, options: OPTIONS,
              value: ->(value:, header:, max:) { Routing::DelayBy.new(value, header, max) },
              description: "No message is consumed before it has this age; later messages wait for it. `header` names a header " \
                           "with a message's own delay in ms, of which at most `max` count.")
          end

          def header_problem(delay)
            return without_header(delay) unless delay.header
            return without_limit(delay) unless delay.max
            return unless delay.delay_ms && delay.delay_ms > delay.max

            [["delay_by (#{delay.delay_ms}) is above its max: (#{delay.max})", "Raise max:, or lower the delay"]]
          end

          def without_header(delay)
            return [["delay_by max: is the limit of header:, which is missing", "Remove max:, or name the header"]] if delay.max
            return if delay.delay_ms

            [["delay_by has neither a delay nor header:", "Write delay_by 60_000, or delay_by header: \"delay_ms\", " \
              "max: 600_000"]]
          end

          def without_limit(delay)
            [["delay_by header: has no max:, so that one message could stop its partition for ever",
              "Give the longest delay in ms: delay_by header: #{delay.header.inspect}, max: 600_000"]]
          end

          def expiry_problem(delay, expiry)
            ttl = expiry&.ttl_ms
            return if delay.delay_ms.nil? || ttl.nil? || delay.delay_ms < ttl

            [["delay_by (#{delay.delay_ms}) isn't below expire_in (#{ttl}): every message would expire before it is due",
              "Both count from the message's timestamp"]]
          end
        end
      end
    end
  end
end
