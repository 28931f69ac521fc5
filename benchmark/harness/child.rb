# frozen_string_literal: true

require "io/wait"
require "json"
require_relative "clock"

module Bench
  # A new operating-system process that is measured. It reports by lines of JSON on a pipe of its own (BENCH_FD), so its
  # other output is not read. The harness owns it: {#stop} ends it by its pid in any case.
  class Child
    attr_reader :pid, :spawned_ns, :ended_ns, :status, :output

    # @param command [Array<String>] program and arguments
    # @param env [Hash<String, String>] added to the environment
    # @param chdir [String] folder it runs in
    # @param log [String] file that takes its stdout and stderr
    def initialize(command, env:, chdir:, log:)
      @reader, writer = IO.pipe
      @buffer = +""
      @events = []
      @output = log
      @spawned_ns = Bench.now_ns
      @pid = ::Process.spawn(env.merge("BENCH_FD" => writer.fileno.to_s, "BENCH_SPAWNED_NS" => @spawned_ns.to_s),
        *command, writer.fileno => writer, :in => File::NULL, [:out, :err] => [log, "w"], :chdir => chdir)
      writer.close
    end

    # Waits for the line {"event": name, …}.
    #
    # @param name [String]
    # @param within [Numeric] seconds
    # @return [Hash]
    # @raise [RuntimeError] with the end of its output, if it ended or reported nothing in time
    def await(name, within:)
      deadline = Bench.now_ns + (within * 1_000_000_000)
      loop do
        wrong = @events.find { |event| event["event"] == "error" }
        raise failure("reported an error: #{wrong["message"]}") if wrong

        found = @events.find { |event| event["event"] == name }
        return found if found

        read_more(name, (deadline - Bench.now_ns) / 1e9)
      end
    end

    def ended?
      reap
    end

    def signal(name)
      ::Process.kill(name, pid)
    end

    # @param grace [Numeric] seconds from TERM to KILL; without, KILL is the first signal
    def stop(grace: 0)
      return if ended? || (grace.positive? && ends_on_term?(grace))

      signal("KILL")
      ::Process.wait(pid)
      @status = $?
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    ensure
      @reader.close unless @reader.closed?
    end

    # Waits for its end, exact to a millisecond.
    #
    # @return [Integer] stamp of the end
    def wait_exactly(within:)
      deadline = Bench.now_ns + (within * 1_000_000_000)
      until reap
        raise failure("did not end within #{within} s") if Bench.now_ns > deadline

        sleep 0.001
      end
      ended_ns
    end

    # Stops the process if it runs, and returns the last lines that it printed.
    def failure(what)
      tail = File.exist?(output) ? File.readlines(output).last(15).join : ""
      "process #{pid} #{what}\n#{tail}"
    end

    private

    def ends_on_term?(grace)
      signal("TERM")
      deadline = Bench.now_ns + (grace * 1_000_000_000)
      sleep 0.01 until reap || Bench.now_ns > deadline
      ended?
    end

    def reap
      return true if status
      return false unless ::Process.wait(pid, ::Process::WNOHANG)

      @ended_ns = Bench.now_ns
      @status = $?
      true
    end

    def read_more(name, seconds)
      raise failure("was silent instead of reporting \"#{name}\"") if seconds <= 0
      return unless @reader.wait_readable([seconds, 0.5].min)

      @buffer << @reader.readpartial(65_536)
      while (line = @buffer.slice!(/\A.*\n/))
        @events << JSON.parse(line)
      end
    rescue EOFError
      raise failure("ended instead of reporting \"#{name}\"")
    end
  end
end
