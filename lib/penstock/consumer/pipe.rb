# frozen_string_literal: true

module Penstock
  class Consumer
    # Builds the message that forwards a consumed one to another topic: bytes, key and headers unchanged, plus headers that
    # name its source. Messages without a key all go to one partition per source partition, so that their order is kept.
    # Stateless.
    module Pipe
      class << self
        # @param message [Message]
        # @param topic [String, Symbol] target topic
        # @param group [String] the consumer group's id
        # @yieldparam piped [Hash] the message to send, may be changed
        # @return [Hash] for a producer
        def call(message, topic:, group:)
          piped = {topic: topic, payload: message.raw_payload, headers: headers(message, group)}
          key = message.raw_key
          key ? piped[:key] = key : piped[:partition_key] = message.partition.to_s
          yield piped if block_given?
          piped
        end

        private

        # Source headers of an earlier pipe, or of a dead letter, are overwritten.
        def headers(message, group)
          {**message.raw_headers, "source_topic" => message.topic.to_s, "source_partition" => message.partition.to_s,
                                  "source_offset" => message.offset.to_s, "source_consumer_group" => group.to_s}
        end
      end
    end
  end
end
