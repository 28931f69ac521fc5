# frozen_string_literal: true

module Penstock
  class Messages
    # A batch of plain Ruby values with the interface of the native one, for tests, for records that were copied out of their
    # arena, and for sources other than a connection.
    class MemoryBatch
      # One record as plain values; `timestamp` in ms, `headers` a frozen Hash, `bytes` the size it counts as, if that isn't
      # payload and key, `received_ms` when it was taken, if that isn't the context's.
      Row = Struct.new(:offset, :payload, :key, :headers, :timestamp, :leader_epoch, :timestamp_type, :bytes, :received_ms,
        keyword_init: true)

      # @param batch [Object]
      # @param index [Integer]
      # @return [MemoryBatch] that one record, with bytes of its own; it has the same size, so that counters stay balanced
      def self.copy(batch, index)
        eof = batch.eof if index + 1 == batch.size
        row = Row.new(offset: batch.offset(index), payload: batch.payload(index), key: batch.key(index),
          headers: batch.headers(index), timestamp: batch.timestamp(index), leader_epoch: batch.leader_epoch(index),
          timestamp_type: batch.timestamp_type(index), bytes: batch.bytesize(index), received_ms: batch.received_ms(index))
        new(batch.topic, batch.partition, [row], eof: eof).tap { |copy| copy.context = batch.context }
      end

      attr_reader :topic, :partition, :from, :to, :eof, :error
      attr_accessor :context

      # @param topic [String]
      # @param partition [Integer]
      # @param rows [Array<Row>]
      # @param from [Integer] the lane's cursor before the records, -1001 when unknown
      # @param to [Integer, nil] the cursor after them; default: last offset + 1
      # @param eof [Integer, nil] offset at which the end of the partition was reached with them
      # @param full [Boolean] whether the lane may hold more
      def initialize(topic, partition, rows, from: nil, to: nil, eof: nil, error: nil, full: false)
        @topic = topic
        @partition = partition
        @rows = rows
        @from = from || rows.first&.offset || -1001
        @to = to || (rows.empty? ? @from : rows.last.offset + 1)
        @eof = eof
        @error = error
        @full = full
      end

      def size = @rows.size
      def full? = @full
      def bytes = size.times.sum { |index| bytesize(index) }
      def offset(index) = @rows[index].offset
      def payload(index) = @rows[index].payload
      def text(index) = payload(index)&.dup&.force_encoding(Encoding::UTF_8)&.freeze
      def key(index) = @rows[index].key
      def headers(index) = @rows[index].headers || NO_HEADERS
      def timestamp(index) = @rows[index].timestamp || -1
      def timestamp_type(index) = @rows[index].timestamp_type || :create
      def leader_epoch(index) = @rows[index].leader_epoch || -1
      def received_ms(index) = @rows[index].received_ms || @context&.received_ms || 0
      def bytesize(index) = @rows[index].bytes || [payload(index), key(index)].sum { |bytes| bytes.to_s.bytesize }

      # Yields views one after another and keeps the owner's cursor on the current record.
      def each_view(klass, owner, first, count)
        first.upto(first + count - 1) do |index|
          owner.cursor = index if owner
          yield klass.new(self, index)
        end
      end

      def offsets = @rows.map(&:offset)
      def raw_payloads(first, count) = @rows[first, count].map(&:payload)
      def each_raw(first, count, &) = raw_payloads(first, count).each(&)
      def release! = @rows = nil

      NO_HEADERS = {}.freeze
      private_constant :NO_HEADERS
    end
  end
end
