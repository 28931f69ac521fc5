# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # Records of one take, with the interface of Penstock::Native::Batch.
        class Batch
          attr_reader :topic, :partition, :from, :to, :eof, :error, :records
          attr_accessor :context

          # @param lane [Lane]
          # @param records [Array<Record>]
          # @param eof [Integer, nil]
          # @param error [Array(Integer, String), nil]
          # @param full [Boolean] whether the lane may hold more records
          def initialize(lane, records, eof:, error:, full:)
            @topic = lane.topic
            @partition = lane.partition
            @records = records
            @from = lane.cursor
            @to = records.empty? ? @from : records.last.offset + 1
            @eof = eof
            @error = error
            @full = full
            @context = nil
          end

          def size = @records.size
          def full? = @full
          def bytes = @records.size * 100
          def offset(index) = @records[index].offset
          def payload(index) = @records[index].payload
          def text(index) = payload(index)&.dup&.force_encoding(Encoding::UTF_8)
          def key(index) = @records[index].key
          def headers(index) = @records[index].headers
          def timestamp(index) = @records[index].timestamp
          def timestamp_type(_index) = :create
          def leader_epoch(index) = @records[index].leader_epoch
          def received_ms(_index) = @context.received_ms
          def bytesize(index) = @records[index].payload.to_s.bytesize + @records[index].key.to_s.bytesize
          def offsets = @records.map(&:offset)
          def contiguous? = @records.empty? || @records.first.offset + @records.size == @to
          def raw_payloads(first, count) = @records[first, count].map(&:payload)
          def each_raw(first, count, &) = raw_payloads(first, count).each(&)
          def release! = nil
          def released? = false

          # As in the native batch, the cursor is set to the record before it is yielded.
          def each_view(klass, owner, first, count)
            index = first
            last = first + count
            while index < last
              owner.cursor = index if owner
              yield klass.new(self, index)
              index += 1
            end
            self
          end
        end
      end
    end
  end
end
