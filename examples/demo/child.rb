# frozen_string_literal: true

require "io/wait"
require "json"

module Demo
  # Controls a process of the demo from the process that started it: its pid, the pipe with its progress, and its
  # end. The child has its own process group, so Ctrl-C reaches only the parent, which then stops its children in
  # order. Only this object waits for the child, so a signal never goes to a pid that meanwhile belongs to another process.
  class Child
    attr_reader :name, :pid, :status, :pipe

    # @param name [String] of its journal
    # @param command [Array<String>]
    # @param env [Hash{String => String}]
    # @param log [String] file for what it prints
    def initialize(name, command, env:, log:)
      @name = name
      @pipe, writing = IO.pipe
      @progress = {"in_flight" => 0, "done" => 0, "next" => {}, "assigned" => 0, "running" => false}
      @pid = ::Process.spawn(env.merge("DEMO_STATUS_FD" => writing.fileno.to_s), *command,
        writing.fileno => writing.fileno, :in => File::NULL, %i[out err] => [log, "a"], :pgroup => true)
      writing.close
    end

    def in_flight = @progress["in_flight"]
    def done = @progress["done"]
    def assigned = @progress["assigned"]
    def serving? = @progress["running"]

    # @return [Hash{Integer => Integer}] partition => offset after the last one finished
    def next_offsets
      @progress["next"].transform_keys(&:to_i)
    end

    # Reads the pipe; call it when the pipe is readable. A child that closed it is about to end, and is waited for.
    def read_progress
      lines = @pipe.read_nonblock(65_536).lines
      @partial = "#{@partial}#{lines.shift}"
      lines.unshift(@partial)
      @partial = lines.last.end_with?("\n") ? nil : lines.pop
      @progress = JSON.parse(lines.last) if lines.any?
    rescue IO::WaitReadable
      nil
    rescue EOFError
      reap
    end

    def running?
      @status.nil?
    end

    # @return [Integer] exit code, or 128 + the signal
    def exit_code
      @status&.exitstatus || (128 + @status.termsig.to_i)
    end

    def kill(signal)
      @asked ||= signal == :TERM
      ::Process.kill(signal, @pid) if running?
    end

    # Sends TERM, and kills the process when it doesn't end within the limit.
    #
    # @return [Boolean] whether it ended without being killed
    def stop(limit_s)
      kill(:TERM) unless @asked # a second one may reach a process that has removed its handlers, because it is about to end
      deadline = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + limit_s
      while running? && (left = deadline - ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)).positive?
        read_progress if @pipe.wait_readable(left)
      end
      return true unless running?

      kill(:KILL)
      reap
      false
    end

    # Waits for a process that is ending.
    def reap
      return unless running?

      _, @status = ::Process.wait2(@pid)
      @pipe.close
    end
  end
end
