# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "dry_client"

module Penstock
  class Producer
    # Returns how many partitions topics have: queries the cluster and keeps the answer for 30 s, also the answer that the
    # number is unknown, so that a missing topic isn't queried for each message. Any thread; two may query at the same time.
    class PartitionCounts
      TTL_MS = 30_000
      QUERY_TIMEOUT_MS = 5_000
      UNKNOWN = -1

      # Answers of the cluster for a topic that doesn't exist, or that this user may not see.
      MISSING = %i[unknown_topic unknown_topic_or_part topic_authorization_failed topic_exception].freeze

      Entry = Struct.new(:count, :missing, :expires_at_ms)

      class << self
        # The native query can't be interrupted, but a thread that waits for another one can. If the client is replaced
        # meanwhile, raises that it is closed. A client that sends nothing answers at once, on the calling thread: in tests the
        # answer depends on the example to which that thread belongs.
        #
        # @param client [Native::Producer, DryClient]
        # @param topic [String]
        # @return [Integer] -1 if unknown
        # @raise [KafkaError]
        def query(client, topic)
          open_topic(client, topic)
          return ask(client, topic) if client.is_a?(DryClient)

          query = Thread.new do
            Thread.current.report_on_exception = false
            ask(client, topic)
          end
          query.value
        end

        private

        def ask(client, topic) = client.query_partitions(topic, QUERY_TIMEOUT_MS)

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
      # @return [Entry] its `count` is -1 if unknown; `missing`: the cluster has answered that there is no such topic
      def fetch(topic, &)
        known = @entries[topic]
        return known if known && known.expires_at_ms > @clock.monotonic_ms

        count, missing = ask(&)
        Entry.new(count, missing, @clock.monotonic_ms + TTL_MS).tap { |entry| @entries = @entries.merge(topic => entry).freeze }
      end

      private

      # A topic without partitions was just created.
      def ask
        count = yield
        [count.positive? ? count : UNKNOWN, false]
      rescue KafkaError => error
        [UNKNOWN, MISSING.include?(error.code)]
      end
    end
  end
end
