# frozen_string_literal: true

module Penstock
  module Assignment
    # Counts how often each partition was assigned to this process: a partition that left and was assigned again has a higher
    # number, so that code which kept state for it knows that another process may have worked on it meanwhile.
    #
    # Written by poll loops, read by any thread; the lock is held for one Hash operation.
    class Generations
      # Most partitions to remember, since topics come and go. The partition whose assignment is the oldest is dropped first.
      MOST = 100_000

      # @param most [Integer]
      def initialize(most = MOST)
        @most = most
        @lock = Mutex.new
        @counts = {}
      end

      # @param topic [Routing::Topic]
      # @param partition [Integer] that was assigned
      # @return [Integer] how often it has been assigned so far
      def assigned(topic, partition)
        key = [topic.id, partition].freeze
        @lock.synchronize do
          known, count = @counts.delete(key) || [topic, 0]
          @counts[key] = [known, count += 1]
          @counts.shift if @counts.size > @most
          count
        end
      end

      # @return [Integer] 0 for one that was never assigned
      def of(topic, partition) = @lock.synchronize { @counts[[topic.id, partition]]&.last || 0 }

      # @return [Array<Array(Routing::Topic, Integer, Integer)>] topic, partition, how often
      def to_a = @lock.synchronize { @counts.to_a }.map { |(_id, partition), (topic, count)| [topic, partition, count] }
    end
  end
end
