# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Producer
    # Returns how many partitions topics have: queries the cluster and keeps the answer for 30 s, also the answer that the
    # number is unknown, so that a missing topic isn't queried for each message. Any thread; two may query at the same time.
    class PartitionCounts
      TTL_MS = 30_000
      QUERY_TIMEOUT_MS = 5_000
      UNKNOWN = -1

      Entry = Struct.new(:count, :expires_at_ms)

      class << self
        # The native query can't be interrupted, but a thread that waits for another one can. If the client is replaced
        # meanwhile, raises that it is closed.
        #
        # @param client [Native::Producer, DryClient]
        # @param topic [String]
        # @return [Integer] -1 if unknown
        # @raise [KafkaError]
        def query(client, topic)
          open_topic(client, topic)
          query = Thread.new do
            Thread.current.report_on_exception = false
            client.query_partitions(topic, QUERY_TIMEOUT_MS)
          end
          query.value
        end

        private

        # A topic that a variant has opened with other properties is already open.
        def open_topic(client, topic)
          client.open_topic(topic)
        rescue KafkaError => error
          raise unless error.code == :conflict
        end
      end

      # @param clock [Clock]
      def initialize(clock: Clock::SYSTEM)
        @clock = clock
        @entries = {}.freeze
      end

      # @param topic [String]
      # @yieldreturn [Integer] queries the cluster
      # @return [Integer] -1 if unknown
      def fetch(topic, &query)
        entry = @entries[topic]
        return entry.count if entry && entry.expires_at_ms > @clock.monotonic_ms

        count = ask(&query)
        @entries = @entries.merge(topic => Entry.new(count, @clock.monotonic_ms + TTL_MS)).freeze
        count
      end

      private

      # A topic without partitions was just created.
      def ask
        count = yield
        count.positive? ? count : UNKNOWN
      rescue KafkaError
        UNKNOWN
      end
    end
  end
end
