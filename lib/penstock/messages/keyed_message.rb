# frozen_string_literal: true

require_relative "message"

module Penstock
  # A record of a partition whose keys run side by side: it knows the cell in which marks of its unit are written.
  # @api private
  class KeyedMessage < Message
    # @return [Object] the batch it came in
    attr_reader :batch

    # @return [Consumer::UnitMarks, nil] set each time the record becomes part of a unit
    attr_writer :cell

    def mark_cell = @cell || super
    def keyed = self
  end
end
