# frozen_string_literal: true

module Penstock
  module Processing
    # Counts the failed attempts of records that aren't complete yet. A count belongs to a record, not to the batch it came in.
    class Attempts
      def initialize
        @failed = {}
        @changed = false
      end

      # @return [Boolean] whether a count has changed since {#written!}
      def changed? = @changed

      # The counts were written to a commit.
      def written! = @changed = false

      # The commit was refused.
      def unwritten! = @changed = @failed.any?

      # @return [Integer] failed attempts so far
      def of(offset) = @failed.fetch(offset, 0)

      # @return [Integer] failed attempts, this one included
      def fail(offset)
        @changed = true
        @failed[offset] = of(offset) + 1
      end

      # Restores the count of an earlier owner.
      def restore(offset, count) = @failed[offset] = count

      # @return [Array<Integer>] records that have failed
      def offsets = @failed.keys

      def any? = !@failed.empty?
      def size = @failed.size

      # Forgets a record that is complete.
      def forget(offset)
        @failed.delete(offset) unless @failed.empty?
      end

      # Forgets complete records.
      def complete_through(offset)
        @failed.delete_if { |failed, _count| failed < offset } unless @failed.empty?
      end

      def to_h = @failed.dup
    end
  end
end
