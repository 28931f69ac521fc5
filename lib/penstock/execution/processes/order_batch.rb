# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # The records of a unit inside a child, with the interface of a native batch. Bytes are cut out of the frame on access;
      # iterating writes the current record to the shared status.
      class OrderBatch
        NOTHING = {}.freeze
        private_constant :NOTHING

        attr_accessor :context

        # @return [Integer, nil] offset of the end of the partition, if it came with these records
        attr_reader :eof

        # @param order [UnitCodec::Order]
        # @param shared_status [SharedStatus]
        def initialize(order, shared_status)
          @order = order
          @body = order.body
          @records = order.records
          @shared_status = shared_status
          @eof = @records.last.offset + 1 if order.at_end && @records.any?
        end

        def topic = @order.topic_name
        def partition = @order.partition
        def size = @records.size
        def offset(index) = @records[index].offset
        def timestamp(index) = @records[index].timestamp
        def timestamp_type(_index) = :create
        def leader_epoch(index) = @records[index].epoch
        def received_ms(index) = @records[index].received_ms

        def key(index)
          record = @records[index]
          @body.byteslice(record.key_at, record.key_bytes).freeze unless record.key_bytes.negative?
        end

        def payload(index)
          record = @records[index]
          @body.byteslice(record.payload_at, record.payload_bytes).freeze unless record.payload_bytes.negative?
        end

        # @return [String, nil] the same, flagged as UTF-8
        def text(index) = payload(index)&.dup&.force_encoding(Encoding::UTF_8)&.freeze

        def headers(index)
          record = @records[index]
          return NOTHING if record.headers_bytes.zero?
          Frame.value(@body.byteslice(record.headers_at, record.headers_bytes)).each_value { |value| frozen(value) }.freeze
        end

        def bytesize(index)
          record = @records[index]
          record.end - record.key_at
        end

        # Yields views one after another; the owner's cursor and the shared status follow.
        def each_view(klass, owner, first, count)
          first.upto(first + count - 1) do |index|
            owner.cursor = index
            yield klass.new(self, index)
          end
        end

        def raw_payloads(first, count) = Array.new(count) { |index| payload(first + index) }
        def each_raw(first, count, &) = raw_payloads(first, count).each(&)

        # Called with each step of an iteration, before user code sees the record.
        def read(index) = @shared_status.at(@order.id, @records[index].offset)

        private

        # Frozen as outside of the pool: an Array has the values of a name that occurs more than once.
        def frozen(value)
          value.each(&:freeze) if value.is_a?(Array)
          value.freeze
        end
      end
    end
  end
end
