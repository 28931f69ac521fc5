# frozen_string_literal: true

require_relative "../on_demand"
require_relative "forwarder"
require_relative "hop_clock"
Penstock.load_constant :BaseConsumer

module Penstock
  module Delays
    # The consumer of delay topics: moves records on that may leave their topic. The poll loop gives it no others.
    #
    # An offset moves only after the broker has acknowledged the messages of all records before it. A record that can't be
    # moved for now raises, and is tried again.
    class Consumer < BaseConsumer
      def consume
        last, reason = forwarder.forward(messages, producer) { |message, why| dispatch_to_dlq(message, reason: why) }
        complete(last) if last
        raise reason if reason
      end

      private

      # With the clock of the process, which was read before the first record came.
      def forwarder
        @forwarder ||= @penstock_context.loop_client.then { |client|
          Forwarder.new(topic.features.fetch(:delay_tier).tiers, HopClock.new(client.clock, client.cautious_clock))
        }
      end

      def complete(last)
        mark_as_consumed(last)
        forwarder.complete(last)
        @penstock_context.loop_client.instrument("delay.forwarded", {topic: last.topic, partition: last.partition,
          first_offset: messages.first.offset, last_offset: last.offset, arrived: 0, moved: 0, set_back: 0, dead_lettered: 0,
          **forwarder.counts})
      end
    end
  end
end
