# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # A handle for administration over librdkafka: plain rows in and out, one broker request a call.
    #
    # It may be used by many threads at once; each call waits for its own answer, takes a timeout in ms, and can be
    # interrupted (`Thread#kill`, `Timeout`, signals). {#close} ends calls that wait. It is opened for a few calls and
    # closed: it keeps connections and librdkafka's threads alive meanwhile. Defined in the extension:
    #
    # * `new(conf)` – librdkafka's properties, String to String
    # * `create_topics([[name, partitions, replication_factor, config], …], timeout_ms, validate_only = false)`,
    #   `delete_topics(names, timeout_ms)`, `create_partitions([[name, total], …], timeout_ms)` → rows of
    #   `[name, error number (0: done), message or nil]`
    # * `metadata(topic or nil, timeout_ms)`, `list_offsets(rows, timeout_ms, read_committed = false)`
    # * `committed_offsets(group, rows or nil, timeout_ms, require_stable = false)`, `list_groups(timeout_ms)`,
    #   `describe_groups(names, timeout_ms)`
    # * `close`, `closed?`, `state`, `pid`, `name`, `set_token(token, expires_at_ms, principal, extensions)`
    class Admin
      # Instead of a time in {#list_offsets}: the first offset, the end, the record with the latest time.
      EARLIEST = -2
      LATEST = -1
      MAX_TIMESTAMP = -3

      # @return [(Integer, Integer)] first offset and end of a partition
      # @raise [KafkaError]
      def watermarks(topic, partition, timeout_ms)
        [EARLIEST, LATEST].map do |spec|
          *, offset, _, _, number = list_offsets([[topic, partition, spec]], timeout_ms).first
          raise Native.error_for(number, "#{topic}/#{partition}") unless number.zero?

          offset
        end
      end

      # @param rows [Array<(String, Integer, Integer)>] topic, partition, time in ms
      # @return [Array<(String, Integer, Integer, Integer)>] topic, partition, the first offset whose time isn't before
      #   the one asked for (-1: there is none), error number
      def offsets_for_times(rows, timeout_ms)
        list_offsets(rows, timeout_ms).map { |topic, partition, offset, *, number| [topic, partition, offset, number] }
      end

      # @return [String, nil] nil for brokers too old to have one
      def cluster_id(timeout_ms)
        metadata(nil, timeout_ms)[:cluster_id]
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{state}>"
      end
    end
  end
end
