# frozen_string_literal: true

module Penstock
  module Processing
    # Counts the failed attempts of records that aren't complete yet. A count belongs to a record, not to the batch it came in.
    class Attempts
      # @return [Integer, nil] monotonic ms until which records wait that an earlier owner was retrying
      attr_reader :adopted_until

      def initialize
        @failed = {}
        @waits = {}
        @changed = false
        @adopted_until = nil
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

      # The record is tried again after a back-off.
      # @param wait_ms [Integer]
      def wait(offset, wait_ms) = @waits[offset] = wait_ms

      # @return [Integer] ms of the record's last back-off; 0 if it was that of an earlier owner
      def waited(offset) = @waits.fetch(offset, 0)

      # Restores the count of an earlier owner.
      def restore(offset, count) = @failed[offset] = count

      # Restores records that an earlier owner was retrying.
      # @param counts [Hash{Integer => Integer}] failed attempts by offset
      # @param until_ms [Integer, nil] monotonic ms until which they wait, each with its key; nil: something else holds them
      def adopt(counts, until_ms)
        @failed.update(counts)
        @adopted_until = until_ms
      end

      # Forgets the counts: a new incarnation begins.
      def clear
        @failed.clear
        @waits.clear
        @changed = false
      end

      # @return [Array<Integer>] records that have failed
      def offsets = @failed.keys

      def any? = !@failed.empty?
      def size = @failed.size

      # Forgets a record that is complete.
      def forget(offset)
        return if @failed.empty?
        @waits.delete(offset)
        @failed.delete(offset)
      end

      # Forgets complete records.
      def complete_through(offset)
        return if @failed.empty?
        [@failed, @waits].each { |of_records| of_records.delete_if { |failed, _value| failed < offset } }
      end

      def to_h = @failed.dup
    end
  end
end
