# frozen_string_literal: true

module Penstock
  module Processing
    # Failed attempts of records that aren't complete yet. A count belongs to a record, not to the batch it came in.
    class Attempts
      def initialize
        @failed = {}
      end

      # @return [Integer] failed attempts so far
      def of(offset) = @failed.fetch(offset, 0)

      # @return [Integer] failed attempts, this one included
      def fail(offset) = @failed[offset] = of(offset) + 1

      # Forgets what is complete.
      def complete_through(offset)
        @failed.delete_if { |failed, _count| failed < offset } unless @failed.empty?
      end

      def to_h = @failed.dup
    end
  end
end
