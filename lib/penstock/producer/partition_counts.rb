# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Producer
    # How many partitions topics have, asked of the cluster and kept for 30 s; what isn't known is kept too, so that a
    # missing topic isn't asked for with every message. Any thread; two may ask at once, which costs a question.
    class PartitionCounts
      TTL_MS = 30_000
      QUERY_TIMEOUT_MS = 5_000
      UNKNOWN = -1

      Entry = Struct.new(:count, :expires_at_ms)

      # @param clock [Clock]
      def initialize(clock: Clock::SYSTEM)
        @clock = clock
        @entries = {}.freeze
      end

      # @param topic [String]
      # @yieldreturn [Integer] asks the cluster
      # @return [Integer] -1 when it isn't known
      def fetch(topic, &query)
        entry = @entries[topic]
        return entry.count if entry && entry.expires_at_ms > @clock.monotonic_ms

        count = ask(&query)
        @entries = @entries.merge(topic => Entry.new(count, @clock.monotonic_ms + TTL_MS)).freeze
        count
      end

      private

      # A topic without partitions is one that was just made.
      def ask
        count = yield
        count.positive? ? count : UNKNOWN
      rescue KafkaError
        UNKNOWN
      end
    end
  end
end
