# frozen_string_literal: true

module Penstock
  class Consumer
    # Makes of a consumed message the one that goes on to another topic: bytes, key and headers as they are, and headers that
    # say where it comes from. A message without key goes where others of its partition go, so that their order is kept.
    # Without state.
    module Pipe
      class << self
        # @param message [Message]
        # @param topic [String, Symbol] where it goes
        # @param group [String] the consumer group's id
        # @yieldparam piped [Hash] what is sent, may be changed
        # @return [Hash] for a producer
        def call(message, topic:, group:)
          piped = {topic: topic, payload: message.raw_payload, headers: headers(message, group)}
          key = message.raw_key
          key ? piped[:key] = key : piped[:partition_key] = message.partition.to_s
          yield piped if block_given?
          piped
        end

        private

        # What an earlier pipe, or the dead letters, said of its source is past.
        def headers(message, group)
          {**message.raw_headers, "source_topic" => message.topic.to_s, "source_partition" => message.partition.to_s,
                                  "source_offset" => message.offset.to_s, "source_consumer_group" => group.to_s}
        end
      end
    end
  end
end
