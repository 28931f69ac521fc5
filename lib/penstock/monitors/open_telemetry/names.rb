# frozen_string_literal: true

module Penstock
  module Monitors
    module OpenTelemetry
      # Names of attributes, after OpenTelemetry's semantic conventions for messaging and Kafka (version 1.37; in development, so
      # they may change), and Penstock's own. No attribute contains a payload, a key or a header.
      module Names
        SYSTEM = "messaging.system"
        OPERATION_NAME = "messaging.operation.name"
        OPERATION_TYPE = "messaging.operation.type"
        DESTINATION = "messaging.destination.name"
        # Text, in the conventions.
        PARTITION = "messaging.destination.partition.id"
        GROUP = "messaging.consumer.group.name"
        # Only of spans of several messages.
        COUNT = "messaging.batch.message_count"
        # Only of spans of one message.
        OFFSET = "messaging.kafka.offset"
        TOMBSTONE = "messaging.kafka.message.tombstone"
        ERROR_TYPE = "error.type"
        # Ours: the number of the attempt, from 1; the offsets of a call of several records; the topic of a record that was sent
        # on to a retry topic or to the dead letters.
        ATTEMPT = "penstock.attempt"
        FIRST_OFFSET = "penstock.first_offset"
        LAST_OFFSET = "penstock.last_offset"
        SOURCE_TOPIC = "penstock.source.topic"

        KAFKA = "kafka"
        SEND = "send"
        PROCESS = "process"

        SENDING = {SYSTEM => KAFKA, OPERATION_NAME => SEND, OPERATION_TYPE => SEND}.freeze
        PROCESSING = {SYSTEM => KAFKA, OPERATION_NAME => PROCESS, OPERATION_TYPE => PROCESS}.freeze
      end
    end
  end
end
