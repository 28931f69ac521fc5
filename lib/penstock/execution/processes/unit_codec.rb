# frozen_string_literal: true

require_relative "frame"

module Penstock
  module Execution
    module Processes
      # Encodes and decodes a unit: its head, then its records one after another, as they came from the broker. Nothing is
      # deserialized here: that is user code, and runs in the child with the rest of it.
      module UnitCodec
        ACTIONS = %i[consume eofed].freeze
        # Unit, route, partition, attempt, action, flags (1: at the end, 2: collapsed), scheduling time in ms, bytes of the
        # topic's name and of the metadata that was found with the committed offset (-1: none), number of records.
        HEAD = "Q>NNNCCq>nl>N"
        HEAD_BYTES = 8 + 4 * 3 + 2 + 8 + 2 + 4 + 4
        # Offset, timestamp, time of receipt in ms, leader epoch, bytes of key and payload (-1: nil) and of headers.
        RECORD = "q>q>q>l>l>l>N"
        RECORD_BYTES = 8 * 3 + 4 * 4
        private_constant :HEAD, :HEAD_BYTES, :RECORD, :RECORD_BYTES

        # A decoded unit.
        Order = Struct.new(:id, :route, :partition, :attempt, :action, :at_end, :scheduled_ms, :topic_name,
          :metadata, :body, :records, :collapsed)

        # The position of a record in the body.
        Record = Struct.new(:offset, :timestamp, :received_ms, :epoch, :key_bytes, :payload_bytes, :headers_bytes, :key_at) do
          def payload_at = key_at + [key_bytes, 0].max
          def headers_at = payload_at + [payload_bytes, 0].max
          def end = headers_at + headers_bytes
        end

        class << self
          # @param id [Integer] above zero
          # @param route [Integer] index of the routed topic
          # @param unit [Processing::Unit]
          # @return [String] a frame's body
          def encode(id, route, unit)
            messages = unit.messages
            lane = unit.lane
            metadata = lane.marks.metadata || lane.adopted_metadata
            bytes = [id, route, lane.partition, unit.attempt, ACTIONS.index(unit.action), flags(unit),
              scheduled_ms(messages), lane.topic_name.bytesize, size(metadata), messages.size].pack(HEAD)
            bytes << lane.topic_name.b << metadata.to_s.b
            messages.size.times { |index| add(bytes, messages[index]) }
            bytes
          end

          # @param body [String]
          # @return [Order]
          # @raise [Frame::Damaged]
          def decode(body)
            *head, name_bytes, metadata_bytes, count = body.unpack(HEAD)
            damaged("its head is cut") unless count
            from = HEAD_BYTES + name_bytes + [metadata_bytes, 0].max
            damaged("its head is cut") if from > body.bytesize
            action = ACTIONS[head[4]] || damaged("action #{head[4]} is unknown")
            Order.new(*head[0..3], action, head[5].anybits?(1), *head[6..], text(body, HEAD_BYTES, name_bytes),
              text(body, HEAD_BYTES + name_bytes, metadata_bytes), body, records(body, from, count),
              head[5].anybits?(2))
          end

          private

          def flags(unit) = (unit.messages.at_end? ? 1 : 0) + (unit.collapsed ? 2 : 0)

          def scheduled_ms(messages) = messages.empty? ? 0 : (messages.metadata.scheduled_at.to_r * 1000).to_i

          def add(bytes, message)
            key, payload, headers = message.raw_key, message.raw_payload, headers(message.raw_headers)
            bytes << [message.offset, message.timestamp_ms, message.received_ms, message.leader_epoch, size(key), size(payload),
              headers.bytesize].pack(RECORD)
            bytes << key if key
            bytes << payload if payload
            bytes << headers
          end

          def text(body, from, bytes) = bytes.negative? ? nil : body.byteslice(from, bytes).force_encoding(Encoding::UTF_8)
          def size(text) = text ? text.bytesize : -1
          def headers(headers) = (headers.nil? || headers.empty?) ? "" : Marshal.dump(headers)

          # Each record takes at least its own head: a false count is detected at once.
          def records(body, at, count)
            damaged("it can't hold #{count} records") if count * RECORD_BYTES > body.bytesize
            Array.new(count) do
              damaged("a record is cut") if at + RECORD_BYTES > body.bytesize
              record = Record.new(*body.unpack(RECORD, offset: at), at + RECORD_BYTES)
              at = record.end
              damaged("a record is cut") if at > body.bytesize
              record
            end
          end

          def damaged(reason) = raise(Frame::Damaged, "a unit can't be read: #{reason}")
        end
      end
    end
  end
end
