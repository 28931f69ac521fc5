# frozen_string_literal: true

require_relative "step"

module Penstock
  module CLI
    module Doctor
      # Computes the most memory that prefetched records can use, by librdkafka's rules: a partition is fetched again
      # while it holds fewer than `queued.min.messages` and less than `queued.max.messages.kbytes` of values, and one
      # more fetch may always be added. librdkafka doesn't count keys, headers and about 330 bytes per record; this
      # class does.
      class Memory
        RECORD_BYTES = 330
        MIB = 1024.0 * 1024

        # @param kafka [Hash{String => String}] librdkafka's settings of a consumer
        # @param lanes [Integer] partitions this process can get
        # @param brokers [Integer] each may have one response in flight
        def initialize(kafka, lanes:, brokers: 1)
          @kafka = kafka
          @lanes = lanes
          @brokers = brokers
        end

        # @param value_bytes [Integer] size of a record's value
        # @param rest_bytes [Integer] size of its key and headers
        # @return [Integer] bytes
        def worst_case_bytes(value_bytes, rest_bytes = 0)
          fetch = setting("fetch.message.max.bytes", 1_048_576)
          kept = [setting("queued.min.messages", 100_000),
            setting("queued.max.messages.kbytes", 65_536) * 1_000 / value_bytes].min
          records = kept + (fetch.to_f / value_bytes).ceil
          (@lanes * records * (value_bytes + rest_bytes + RECORD_BYTES)) + (@brokers * response_bytes)
        end

        # @param sizes [Array<Integer>] of values, in bytes
        # @return [Step]
        def step(sizes = [100, 1_000, 10_000])
          cases = sizes.map { |size| "#{mib(worst_case_bytes(size))} with values of #{size} B" }
          Step.ok("memory", "prefetched records take at most #{cases.join(", ")} (#{@lanes} partitions, all of them full)")
        end

        private

        # librdkafka lowers fetch.max.bytes to the queue's limit, and raises it to message.max.bytes.
        def response_bytes
          queue = setting("queued.max.messages.kbytes", 65_536) * 1_000
          largest = setting("message.max.bytes", 1_000_000)
          lowered = [setting("fetch.max.bytes", 52_428_800), queue].min
          [lowered, largest].max
        end

        def setting(name, default)
          Integer(@kafka.fetch(name, default))
        end

        def mib(bytes)
          "#{(bytes / MIB).ceil} MiB"
        end
      end
    end
  end
end
