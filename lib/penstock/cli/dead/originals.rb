# frozen_string_literal: true

require "securerandom"
require_relative "../../deadline"
require_relative "../../errors"
require_relative "../../messages/message"
require_relative "../failure"

module Penstock
  module CLI
    module Dead
      # Reads the source records of letters without a payload, as long as the source partition still has them. Used by
      # one command, on its thread; has one partition open at a time, until {#close}.
      class Originals
        # The omitted part of a letter is no longer available.
        class GoneError < Usage
        end

        BYTES = 1024 * 1024
        # Error codes of partitions that don't exist.
        NOWHERE = %i[unknown_topic_or_part unknown_partition unknown_topic topic_exception noent].freeze
        LAST_PARTITION = 2**31 - 1
        private_constant :BYTES, :NOWHERE, :LAST_PARTITION

        # @param target [Target]
        # @param settings [Hash{String => String}] librdkafka's, of a consumer
        # @param timeout_ms [Integer] longest time for one record
        def initialize(target, settings, timeout_ms)
          @target = target
          @settings = {**settings, "group.id" => "penstock-dead-#{SecureRandom.hex(6)}", "auto.offset.reset" => "earliest",
                                   "enable.partition.eof" => "true", "enable.auto.commit" => "false",
                                   "enable.auto.offset.store" => "false"}
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
          @consumer&.close(2_000)
          @consumer = nil
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

        def read(source)
          go_to([source.topic, source.partition], source.offset)
          deadline = Deadline.in(@timeout_ms)
          until deadline.expired?
            batch = turn or next
            index = (0...batch.size).find { |one| batch.offset(one) >= source.offset }
            return (Message.new(batch, index) if batch.offset(index) == source.offset) if index
            return if batch.eof
          end
          raise WaitTimeoutError, "#{source.topic}/#{source.partition}: no record arrived for #{@timeout_ms} ms"
        end

        def go_to(place, offset)
          return @consumer.seek(@lane, offset) if @consumer && @place == place

          close
          @consumer = @target.consumer(@settings)
          @lane = @consumer.lane(*place)
          refused = @consumer.assign([[*place, offset]])
          raise KafkaError.build(number: refused[0], name: "assign", message: refused[1]) if refused

          @place = place
        end

        def turn
          @consumer.wait(100)
          nil while @consumer.poll_event
          @consumer.take([@lane, 1, BYTES]).first
        end
      end
    end
  end
end
