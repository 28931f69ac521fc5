# frozen_string_literal: true

require "io/wait"
require "json"

module Demo
  # A process of the demo, seen by the one that started it: its pid, the pipe on which it tells its progress, and its
  # end. It lives in a process group of its own, so Ctrl-C reaches only the parent, which then stops its children in
  # order. A child is waited for by nobody else, so a signal never goes to a pid that belongs to another process by now.
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

    # Takes in what the pipe holds; to be called when it is readable. A child that closed it is about to end, and is
    # waited for.
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

    # Asks it to end, and kills it when it doesn't within the limit.
    #
    # @return [Boolean] it ended by itself
    def stop(limit_s)
      kill(:TERM) unless @asked # a second one may meet a process that no longer minds signals, because it is about to end
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
