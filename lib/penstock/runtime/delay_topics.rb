# frozen_string_literal: true

require_relative "boot_topics"

module Penstock
  module Runtime
    # The topics in which delayed messages wait, with a retention that outlasts their delay. Stateless.
    module DelayTopics
      # Six days, in segments of half a day: less than the time for which brokers keep the offsets of a group without members (7
      # days), so that a group whose offsets have expired finds no message that it has forwarded already.
      CONFIG = {"retention.ms": 518_400_000, "segment.ms": 43_200_000, "retention.bytes": -1, "cleanup.policy": "delete"}.freeze
      HINT = "Create it with 1 partition and #{CONFIG.map { |name, value| "#{name}=#{value}" }.join(", ")}".freeze
      private_constant :CONFIG, :HINT

      # @param topics [Array<Routing::Topic>] the consumed topics
      # @return [Array<BootTopics::Wanted>]
      def self.wanted(topics)
        topics.filter_map { |topic| topic.features[:delay_tier] }.map do |tier|
          BootTopics::Wanted.new(name: tier.topic, config: CONFIG, purpose: "messages that wait #{tier.delay_ms} ms",
            place: "routes: delay_topics", reason: "delayed messages wait in", hint: HINT)
        end
      end
    end
  end
end
