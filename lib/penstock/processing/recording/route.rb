# frozen_string_literal: true

module Penstock
  module Processing
    module Recording
      # What a route says about the processing of its records, as plain values; code of the user's appears by its class only.
      # Stateless. {Replay}'s counterpart makes a topic of it again.
      module Route
        # What deciders look at. Nothing of librdkafka's settings, which may hold secrets.
        FEATURES = %i[max_messages manual_offset_management consumer_persistence initial_offset eofed pause parallel window
          dead_letter_queue retry_topics backoff_for breaker isolate quarantine delay_by expire_in throttle filter interruptible
          workers batch].freeze

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
