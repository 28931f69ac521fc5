# frozen_string_literal: true

require_relative "memory_batch"
require_relative "message"

module Penstock
  # A record that knows the cell in which it is marked: of a partition whose keys run side by side, where each unit has its own;
  # or one that comes again after an error, while messages of before must not count any more.
  # @api private
  class KeyedMessage < Message
    # @return [Object] the batch it came in
    attr_reader :batch

    # The record becomes part of a unit. What was deserialized of it before is forgotten: user code may have changed or cleared
    # it.
    # @param cell [Consumer::UnitMarks, Consumer::Marks] where it is marked
    def join(cell)
      @cell = cell
      @memo = nil
      @key = nil unless @key.nil?
      @headers = nil unless @headers.nil?
    end

    # A record that waits for long must not keep the batch it came in: thousands of others lie in the same memory.
    # @return [KeyedMessage] with bytes of its own; itself, where it has them already
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
