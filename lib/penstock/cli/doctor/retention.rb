# frozen_string_literal: true

require_relative "../../errors"
require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Compares how long topics of delayed messages keep their records with how long the records wait in them.
      class Retention
        HINT = "set its retention.ms to 518400000 (6 days, as for topics that Penstock creates): it must be longer than the " \
          "delay plus the longest time without a consumer"
        private_constant :HINT

        # @param admin [Admin] open
        # @param delays [Hash{String => Integer}] ms for which records wait, by topic; topics that exist
        def initialize(admin, delays)
          @admin = admin
          @delays = delays
        end

        # @return [Array<Step>] a warning for each topic that deletes records before they are due
        def steps
          configs = @admin.topic_configs(@delays.keys)
          @delays.filter_map { |topic, delay_ms| warning(topic, delay_ms, configs.dig(topic, "retention.ms")) }
        rescue KafkaError, WaitTimeoutError => error
          [Step.skipped("retention of delay topics", "could not be read: #{error.message}")]
        end

        private

        # -1 keeps records forever.
        def warning(topic, delay_ms, text)
          kept_ms = Integer(text.to_s, exception: false)
          return if kept_ms.nil? || kept_ms.negative? || kept_ms > delay_ms

          Step.warning("retention of #{topic}", "retention.ms is #{kept_ms}, and records wait #{delay_ms} ms in it: the broker " \
            "may delete them before they are due", HINT)
        end
      end
    end
  end
end
