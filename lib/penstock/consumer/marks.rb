# frozen_string_literal: true

module Penstock
  class Consumer
    # Records how far the user's code has marked one partition, for the life of one lane incarnation.
    #
    # A mark is one write: no message to the loop, no wake-up. Any thread may mark. The poll loop reads when it commits,
    # drains or settles; it alone clears `owned`, and from then on marks return false. The lock is held for two assignments
    # and never while calling out.
    class Marks
      # The user's share of the 4,096 bytes of metadata that a broker accepts by default.
      MAX_METADATA_BYTES = 1_024

      # @return [Integer] offset below which everything is marked; -1 before the first mark
      attr_reader :through

      # @return [String, nil] offset metadata that goes with the next commit
      attr_reader :metadata

      # @param topic [Routing::Topic]
      # @return [Marks]
      def self.for(topic) = new(exact: topic.features[:parallel]&.offset_metadata_strategy == :exact)

      # @param exact [Boolean] where keys run in parallel: metadata is sent with a commit that has reached its record, not
      #   before
      def initialize(exact: false)
        @lock = Mutex.new
        @through = -1
        @metadata = nil
        @ahead = exact ? {} : nil
        @owned = @open = true
        @leaving = @carried = false
      end

      # @return [Boolean] whether the partition is still ours
      def owned? = @owned

      # @return [Boolean] whether the partition is being revoked or the process stops: user loops should end
      def leaving? = @leaving || !@owned

      # @return [Boolean] whether records were marked in a transaction that was committed
      def carried? = @carried

      # A transaction with marks was committed.
      def carried! = @carried = true

      # @param offset [Integer] the record's offset; it and everything before it is complete
      # @param metadata [String, nil]
      # @return [Boolean] whether the partition is still ours
      def mark(offset, metadata = nil)
        @lock.synchronize do
          return false unless @owned
          @through = offset + 1 if offset >= @through
          @metadata = metadata if metadata
        end
        true
      end

      # Makes a mark in a separate cell, under the lane's lock.
      # @param offset [Integer]
      # @param metadata [String, nil]
      # @yieldreturn [Boolean] whether the mark counts in that cell
      # @return [Boolean] whether it counts
      def within(offset, metadata)
        @lock.synchronize do
          return false unless @owned && yield
          keep(offset, metadata) if metadata
        end
        true
      end

      # @yield under the lane's lock
      def synchronize(&) = @lock.synchronize(&)

      # Takes a mark made in a process of a pool. Such a process learns a moment later than the loop that marks have ended:
      # marks for which it returned true until then count even after {#cut_off!}.
      # @param offset [Integer] the record's offset; it and everything before it is complete
      def reported(offset) = while_open { @through = offset + 1 if offset >= @through }

      # The metadata of such a mark.
      # @param offset [Integer] the record's
      # @param metadata [String]
      def metadata_reported(offset, metadata) = while_open { keep(offset, metadata) }

      # @yield under the lane's lock, as long as marks of processes of a pool count
      def while_open
        @lock.synchronize { yield if @open }
      end

      # @param offset [Integer] about to be committed
      # @return [String, nil] metadata to commit with it
      def metadata_at(offset)
        return @metadata unless @ahead
        @lock.synchronize do
          reached = @ahead.keys.select { |marked| marked < offset }
          @metadata = @ahead[reached.max] unless reached.empty?
          reached.each { |marked| @ahead.delete(marked) }
          @metadata
        end
      end

      # @param metadata [String, nil] sent with the next commit, regardless of what moves the offset
      # @return [Boolean] whether the partition is still ours
      def store_metadata(metadata)
        @lock.synchronize { @metadata = metadata }
        @owned
      end

      # Called by the poll loop: user loops see it through `stopping?`.
      def leave! = @leaving = true

      # Called by the poll loop when the time for a stop is up, and with an owner's last commit: marks return false from here
      # on; those that were made before count.
      def cut_off!
        @lock.synchronize { @owned = false }
        @leaving = true
      end

      # Called by the poll loop: marks return false from here on, and no mark that arrives counts any more.
      def end_ownership!
        @lock.synchronize { @owned = @open = false }
        @leaving = true
      end

      # Called by the poll loop after an error: records are redelivered, as new messages that are marked in another cell. Marks of
      # the old messages return false from here on; `through` is the final record of how far they had come.
      # @return [Marks]
      def renew
        @lock.synchronize do
          fresh = Marks.new(exact: !@ahead.nil?)
          fresh.take_over(metadata: @metadata, ahead: @ahead, owned: @owned, open: @open, leaving: @leaving, carried: @carried)
          @owned = @open = false
          fresh
        end
      end

      protected

      # @param state [Hash] of the previous cell: everything except how far it had come
      def take_over(state) = state.each { |name, value| instance_variable_set(:"@#{name}", value) }

      private

      # Must be called with the lock held.
      def keep(offset, metadata)
        @ahead ? @ahead[offset] = metadata : @metadata = metadata
      end
    end
  end
end
