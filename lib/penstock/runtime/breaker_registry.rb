# frozen_string_literal: true

require_relative "../processing/backoff"
require_relative "../processing/failure/policy"
require_relative "shared_breaker"

module Penstock
  module Runtime
    # Holds the breakers of a process, one per topic and consumer group; a topic and its retry topics share one. Any thread.
    class BreakerRegistry
      # @param clock [Clock]
      def initialize(clock)
        @clock = clock
        @lock = Mutex.new
        @breakers = {}
      end

      # @param topic [Routing::Topic]
      # @return [SharedBreaker, nil] nil where the route has no breaker
      def of(topic)
        policy = Processing::Failure::Policy.new(topic)
        return unless policy.breaker
        @lock.synchronize { @breakers[[topic.consumer_group_id, policy.family.first]] ||= build(topic, policy) }
      end

      # @return [Array<SharedBreaker>]
      def all = @lock.synchronize { @breakers.values }

      # @return [Array<Hash>] state of the breakers that hold their topic
      def open = all.filter_map(&:to_h)

      # Ends all holds.
      def close_by_hand = all.each(&:close_by_hand)

      private

      def build(topic, policy)
        backoff = Processing::Backoff.of(topic.pause)
        SharedBreaker.new(Processing::Failure::Breaker.new(policy.breaker, backoff, policy.family), @clock)
      end
    end
  end
end
