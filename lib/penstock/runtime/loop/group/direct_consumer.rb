# frozen_string_literal: true

require_relative "../../../native"
require_relative "../../../native/consumer"

module Penstock
  module Runtime
    # Connects to the partitions of topics with `assign`. It joins no group; it announces its partitions as if a group had
    # assigned them, so that the poll loop treats both alike. Offsets are committed to the group, which brokers allow as long as
    # it has no members.
    #
    # Belongs to the poll loop's thread, except {#announce}. Ends as every consumer does.
    class DirectConsumer < Native::Consumer
      # @param properties [Hash{String => String}] librdkafka's settings
      def initialize(properties)
        super
        @announced = Thread::Queue.new
        @unanswered = []
      end

      # Ends with the connection.
      # @return [PartitionSearch]
      attr_accessor :search

      # @param partitions [Array<Array(String, Integer)>] not announced before. Any thread
      def announce(partitions)
        @announced << partitions
        wakeup
      rescue HandleClosedError
        nil # the connection is closed, nothing reads them
      end

      # @return [Array, nil] as for any consumer; partitions to be read come as an assignment
      def poll_event
        return super if @announced.empty?
        partitions = @announced.pop
        @unanswered << partitions
        [:assign, partitions]
      end

      # Partitions that are read already are not disturbed.
      # @return [Array(Integer, String), nil] why the partitions were refused
      def answer(*)
        partitions = @unanswered.shift
        partitions ? assign(partitions) : super
      end

      # @param timeout_ms [Integer]
      def close(timeout_ms)
        @search&.close
        super
      end
    end
  end
end
