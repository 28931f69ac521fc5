# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../on_demand"
require_relative "../../reading/part"
require_relative "../../reading/ranges"
require_relative "../failure"
Penstock.load_constant :Messages

module Penstock
  module CLI
    module Dead
      # Reads the source records of letters without a payload, as long as the source partition still has them. Used by
      # one command, on its thread; connected from the first record until {#close}.
      class Originals
        # The omitted part of a letter is no longer available.
        class GoneError < Usage
        end

        # Error codes of partitions that don't exist.
        NOWHERE = %i[unknown_topic_or_part unknown_partition unknown_topic topic_exception].freeze
        LAST_PARTITION = 2**31 - 1
        private_constant :NOWHERE, :LAST_PARTITION

        # @param target [Target]
        # @param timeout_ms [Integer] longest time for one record
        def initialize(target, timeout_ms)
          @target = target
          @timeout_ms = timeout_ms
          @bounds = {}
        end

        # @param letter [Letter]
        # @return [Message] its source record
        # @raise [GoneError] the record no longer exists, or another one has its offset
        # @raise [WaitTimeoutError] no record arrived in time
        def of(letter)
          reason = gone(letter)
          raise GoneError, reason if reason

          found = read(letter.source)
          raise GoneError, "there is no record at #{letter.origin} any more" unless found
          return found if same?(found, letter.source)

          raise GoneError, "there is another record at #{letter.origin} now: was the topic re-created?"
        end

        # @param letter [Letter]
        # @return [String, nil] why its record isn't available, as far as that is known without reading it
        def gone(letter)
          source = letter.source
          return "the letter doesn't name the offset of its record" unless
            source.partition&.between?(0, LAST_PARTITION) && source.offset&.>=(0)

          low, high = bounds(source)
          return "the topic #{source.topic}, or its partition #{source.partition}, doesn't exist any more" unless low
          return "#{letter.origin} is gone: the partition begins at offset #{low} now" if source.offset < low

          "#{letter.origin} is gone: the partition ends at offset #{high} now, was the topic re-created?" if source.offset >= high
        end

        # @return [void]
        def close
          @connection&.close
          @connection = nil
        end

        private

        def same?(record, source)
          record.timestamp_ms == source.timestamp && record.raw_payload&.bytesize == source.payload_bytes
        end

        def bounds(source)
          @bounds[[source.topic, source.partition]] ||=
            @target.admin { |admin| admin.read_watermark_offsets(source.topic, source.partition) }
        rescue KafkaError => error
          raise unless NOWHERE.include?(error.code)
        end

        # @return [Message, nil]
        # @raise [WaitTimeoutError] the connection is closed, since its partition is still assigned
        def read(source)
          @connection ||= @target.reader(@timeout_ms)
          part = Reading::Part.new(source.topic, source.partition, source.offset, source.offset + 1)
          Reading::Ranges.new(@connection, [part]).each { |_part, batch, first| return Message.new(batch, first) }
          nil
        rescue WaitTimeoutError
          close
          raise
        end
      end
    end
  end
end
