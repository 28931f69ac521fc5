# frozen_string_literal: true

require_relative "../on_demand"
Penstock.load_constant :Message

module Penstock
  class Messages
    # Records of one partition that aren't adjacent in one batch: those a filter kept, or those of one key, which may come from
    # several takes. In offset order; behaves like any other {Messages}.
    class Listed < Messages
      # @param list [Array<Message>] in offset order, never changed afterwards
      # @param batch [Object] used for topic and partition, also when the list is empty
      def initialize(list, batch, scheduled_ms: nil)
        super(batch, 0, list.size, scheduled_ms: scheduled_ms)
        @views = list
        @first_offset = list.empty? ? NO_OFFSET : list.first.offset
      end

      # Read several times per unit by events and the flight recorder.
      attr_reader :first_offset

      def each_raw
        @views.each { |message| yield message.raw_payload }
        self
      end

      def raw_payloads = @views.map(&:raw_payload)
      def last_offset = (@size < 2) ? @first_offset : @views.last.offset
      def offset_at(index) = @views[index].offset
      def timestamp_at(index) = @views[index].timestamp_ms
      def bytesize_at(index) = @views[index].bytesize
      def key_at(index) = @views[index].raw_key
      def headers_at(index) = @views[index].raw_headers
      def keyed(index) = @views[index].keyed
      def at_end? = !empty? && @views.last.at_end?

      def blamed_offset
        return nil if empty?
        @cursor ? @views[@cursor].offset : last_offset
      end

      def from_offset(offset)
        skip = @views.bsearch_index { |message| message.offset >= offset } || @size
        slice(skip, @size - skip)
      end

      def again(cell) = Listed.new(@views.map { |message| message.again(cell) }, @batch, scheduled_ms: @scheduled_ms)
      def marked_in?(cell) = @views.all? { |message| cell.equal?(message.mark_cell) }
      def afresh = Listed.new(@views.map(&:afresh), @batch, scheduled_ms: @scheduled_ms)
      def slice(start, count) = Listed.new(@views[start, count], @batch, scheduled_ms: @scheduled_ms)
      def pick(positions) = Listed.new(@views.values_at(*positions), @batch, scheduled_ms: @scheduled_ms)

      private

      def newest_timestamp = @views.last.timestamp_ms
    end
  end
end
