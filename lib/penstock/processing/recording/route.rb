# frozen_string_literal: true

module Penstock
  module Processing
    module Recording
      # Describes a route's settings for processing records, as plain values; user code appears by its class only. Stateless.
      # {Replay} builds a topic from it again.
      module Route
        # Features that deciders read. None of librdkafka's settings, which may contain secrets.
        FEATURES = %i[max_messages manual_offset_management consumer_persistence initial_offset eofed pause parallel window
          dead_letter_queue retry_topics backoff_for breaker isolate quarantine delay_by expire_in throttle filter interruptible
          workers batch delay_tier].freeze

        class << self
          # @param topic [Routing::Topic]
          # @return [Hash]
          def describe(topic)
            features = FEATURES.select { |name| topic.features.key?(name) }
            {name: topic.name, group: topic.consumer_group_id,
             features: features.to_h { |name| [name, plain(topic.features[name])] },
             **(topic.consumer_group.segment ? {segment: true} : {})}
          end

          private

          def plain(value)
            case value
            when nil, true, false, Numeric, String then value
            when Symbol then ":#{value}"
            when Array then value.map { |each| plain(each) }
            when Struct then {is: value.class.name.split("::").last, **value.to_h.transform_values { |each| plain(each) }}
            when Hash then value.transform_values { |each| plain(each) }
            else {code: (value.is_a?(Module) ? value : value.class).name}
            end
          end
        end
      end
    end
  end
end
