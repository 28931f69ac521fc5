# frozen_string_literal: true

require_relative "memory_batch"
require_relative "message"

module Penstock
  # A record of a partition whose keys run side by side: it knows the cell in which marks of its unit are written.
  # @api private
  class KeyedMessage < Message
    # @return [Object] the batch it came in
    attr_reader :batch

    # The record becomes part of a unit. What an attempt before it made of the payload is forgotten: user code may have changed
    # or cleared it.
    # @param cell [Consumer::UnitMarks] where marks of the unit are written
    def join(cell)
      @cell = cell
      @memo = nil
    end

    # A record that waits for long must not keep the batch it came in: thousands of others lie in the same memory.
    # @return [KeyedMessage] with bytes of its own
    def detached = @batch.is_a?(Messages::MemoryBatch) ? self : KeyedMessage.new(Messages::MemoryBatch.copy(@batch, @index), 0)

    def afresh = KeyedMessage.new(@batch, @index).tap { |view| view.join(@cell) }
    def mark_cell = @cell || super
    def keyed = self
  end
end
