# frozen_string_literal: true

require "securerandom"

module Penstock
  class Consumer
    # Keeps the errors of a consumer since it last succeeded, oldest first, at most {LIMIT}: dead-letter strategies decide by
    # them, and user code may read them (`errors_tracker`). Written by the worker that runs the consumer.
    class ErrorsTracker
      include Enumerable

      LIMIT = 100

      # @return [String] topic of the partition
      attr_reader :topic
      # @return [Integer]
      attr_reader :partition
      # @return [Hash{Class => Integer}] number of errors by class
      attr_reader :counts

      # @param topic [String]
      # @param partition [Integer]
      def initialize(topic, partition)
        @topic = topic
        @partition = partition
        clear
      end

      # @param error [Exception]
      # @return [self]
      def <<(error)
        @errors.shift if @errors.size == LIMIT
        @errors << error
        @counts[error.class] += 1
        self
      end

      # A unit has succeeded.
      def clear
        return if @errors && @errors.empty?

        @errors = []
        @counts = Hash.new(0)
        @trace_id = nil
      end

      # @return [Integer]
      def size = @errors.size

      # @return [Boolean]
      def empty? = @errors.empty?

      # @return [Exception, nil] the newest
      def last = @errors.last

      # @yieldparam error [Exception]
      def each(&) = @errors.each(&)

      # @return [Array<Exception>]
      def all = @errors.dup

      # @return [String] one id for this series of errors; it is also in the headers of dead letters
      def trace_id
        @trace_id ||= SecureRandom.uuid
      end
    end
  end
end
