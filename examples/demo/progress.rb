# frozen_string_literal: true

require "json"

module Demo
  # Reports the progress of a process to the one that draws the bar: one JSON line ten times a second, on a pipe. Any
  # thread counts, a separate thread writes. When nobody reads the pipe any more, the process stops itself, so nothing
  # outlives a demo that was killed.
  class Progress
    INTERVAL_S = 0.1

    # @param pipe [IO] writing end
    def initialize(pipe)
      @pipe = pipe
      @lock = Mutex.new
      @closing = ConditionVariable.new
      @in_flight = @done = 0
      @next_offsets = {}
      @assigned = []
      @running = false
      @thread = Thread.new { report_until_closed }
    end

    def taken(count)
      @lock.synchronize { @in_flight += count }
    end

    def finished(partition, offset)
      @lock.synchronize do
        @in_flight -= 1
        @done += 1
        @next_offsets[partition] = offset + 1
      end
    end

    # The server runs: from here on a signal stops it in order.
    def running
      @lock.synchronize { @running = true }
    end

    # @param partitions [Hash, Array] as in the event
    def assigned(partitions)
      @lock.synchronize { @assigned |= numbers(partitions) }
    end

    def revoked(partitions)
      @lock.synchronize { @assigned -= numbers(partitions) }
    end

    # Writes the last numbers and ends.
    def close
      @lock.synchronize do
        @closed = true
        @closing.signal
      end
      @thread.join
      @pipe.close
    end

    private

    def report_until_closed
      loop do
        line, last = @lock.synchronize do
          @closing.wait(@lock, INTERVAL_S) unless @closed
          [JSON.generate(snapshot), @closed]
        end
        @pipe.syswrite("#{line}\n")
        break if last
      end
    rescue Errno::EPIPE
      ::Process.kill(:TERM, ::Process.pid) unless @closed
    end

    def snapshot
      {in_flight: @in_flight, done: @done, next: @next_offsets, assigned: @assigned.size, running: @running}
    end

    def numbers(partitions)
      partitions.respond_to?(:values) ? partitions.values.flatten : partitions.map { |_topic, partition| partition }
    end
  end
end
