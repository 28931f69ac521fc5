# frozen_string_literal: true

require_relative "../on_demand"
require_relative "memory_batch"
Penstock.load_constant :Message

module Penstock
  # A record that knows the cell in which it is marked. Used where each unit has its own cell, because keys run in parallel; and
  # for a record that is redelivered after an error, when marks of the earlier message must no longer count.
  # @api private
  class KeyedMessage < Message
    # @return [Object] the batch it came in
    attr_reader :batch

    # Makes the record part of a unit. Deserialized values are forgotten: user code may have changed or cleared them.
    # @param cell [Consumer::UnitMarks, Consumer::Marks] where it is marked
    def join(cell)
      @cell = cell
      @memo = nil
      @key = nil unless @key.nil?
      @headers = nil unless @headers.nil?
    end

    # A record that waits for a long time must not keep its batch in memory, which may contain thousands of others.
    # @return [KeyedMessage] with bytes of its own; itself, if it already has them
    def detached
      return self if @batch.is_a?(Messages::MemoryBatch) && @batch.size == 1
      KeyedMessage.new(Messages::MemoryBatch.copy(@batch, @index), 0)
    end

    def afresh = again(@cell)
    def again(cell) = KeyedMessage.new(@batch, @index).tap { |view| view.join(cell) }
    def mark_cell = @cell || super
    def keyed = self
  end
end
