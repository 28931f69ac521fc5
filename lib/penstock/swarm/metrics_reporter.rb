# frozen_string_literal: true

require_relative "metrics_file"

module Penstock
  module Swarm
    # A node's thread that leaves its metrics in the {MetricsFile}, once per interval and when the node has ended in order.
    #
    # Started with the node; ends with {#close}.
    class MetricsReporter
      # Seconds that a node's end waits for a report that is being written: the disk may not answer.
      LONGEST_WRITE = 2
      private_constant :LONGEST_WRITE

      # @param file [MetricsFile]
      # @param index [Integer] of the node
      # @param interval_ms [Integer]
      # @param snapshot [#call] returns what is written
      # @param failed [#call] receives the error of a report that couldn't be written; one after another only once
      def initialize(file, index, interval_ms:, snapshot:, failed:)
        @file = file
        @index = index
        @interval_ms = interval_ms
        @snapshot = snapshot
        @failed = failed
        @process = [::Process.pid, MetricsFile.now]
        @half = 0
        @writing = Mutex.new
        @lock = Mutex.new
        @wake = ConditionVariable.new
        @closed = false
      end

      # @param threads [#start]
      # @return [self]
      def start(threads)
        @thread = threads.start("penstock metrics") { run }
        self
      end

      # Ends the thread and writes once more, unless the thread is still writing after the limit. In a process that was forked
      # from the node it does nothing. Any thread.
      # @param limit [Numeric] seconds
      # @return [void]
      def close(limit = LONGEST_WRITE)
        return unless here?
        @lock.synchronize do
          @closed = true
          @wake.signal
        end
        write if @thread.nil? || @thread.join(limit)
      end

      # Writes a report. Any thread.
      # @return [void]
      def write
        @writing.synchronize do
          next unless here?
          @file.write(@index, @half, MetricsFile::Report.new(@process, MetricsFile.now, @snapshot.call))
          @half = 1 - @half
          @broken = false
        rescue SystemCallError, ArgumentError, IOError => error
          @failed.call(error) unless @broken
          @broken = true
        end
      end

      private

      def here? = ::Process.pid == @process.first

      def run
        until @closed
          write
          await_interval
        end
      end

      def await_interval
        @lock.synchronize { @wake.wait(@lock, @interval_ms / 1_000.0) unless @closed }
      end
    end
  end
end
