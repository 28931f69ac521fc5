# frozen_string_literal: true

module Penstock
  module Config
    # Divides the memory for prefetched records by the partitions that share it, and computes the worst case.
    #
    # librdkafka's limits apply per partition, count values only, prevent only the *next* fetch, and are fixed for the
    # life of a client. So the share is computed once, from the partitions a member can get; a partition can exceed it
    # by one whole fetch, which `fetch.message.max.bytes` limits. A frozen value.
    class MemoryBudget
      # Number of partitions to assume while it is unknown.
      UNKNOWN_LANES = 64
      SMALLEST_SHARE = 256 * 1024
      LARGEST_FETCH = 1024 * 1024
      QUEUED_MESSAGES = 10_000
      # Overhead of librdkafka per record in addition to its bytes.
      RECORD_OVERHEAD = 330
      KIB = 1024

      # @return [Integer] bytes for one partition
      attr_reader :share

      # @param budget_bytes [Integer] for the process
      # @param lanes [Integer, nil] partitions a member can get, nil when unknown
      def initialize(budget_bytes, lanes = nil)
        @lanes = (lanes.nil? || lanes < 1) ? UNKNOWN_LANES : lanes
        @share = [budget_bytes / @lanes, SMALLEST_SHARE].max
        freeze
      end

      # @return [Hash{String => String}] librdkafka's properties
      def properties
        {
          "fetch.message.max.bytes" => fetch_bytes.to_s,
          "queued.max.messages.kbytes" => (@share / KIB).to_s,
          "queued.min.messages" => QUEUED_MESSAGES.to_s
        }
      end

      # @param value [Integer] bytes of a usual value
      # @param key [Integer] bytes of a usual key
      # @param headers [Integer] bytes of usual headers
      # @return [Integer] bytes that records of this size may take at most, without one response in flight a broker
      def worst_case_bytes(value:, key: 0, headers: 0)
        queued = [QUEUED_MESSAGES, @share / [value, 1].max].min
        fetched = fetch_bytes / [value, 1].max + 1
        @lanes * (queued + fetched) * (value + key + headers + RECORD_OVERHEAD)
      end

      private

      def fetch_bytes
        [LARGEST_FETCH, @share].min
      end
    end
  end
end
