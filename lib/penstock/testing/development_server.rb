# frozen_string_literal: true

require "rbconfig"

module Penstock
  module Testing
    # `penstock development` as a child of a web server, for Puma's plugin. The child's standard input is a pipe from this
    # process: when that closes, however this process ends, the child stops in order. It has a process group of its own, because
    # there the keys of the terminal would be signals of their own: Ctrl-C a second stop, Ctrl-Z the end of taking new work.
    #
    # One object per process. {#start} begins a thread that waits for the child and reports when it has ended by itself. {#stop}
    # and {#hand_over} are called in traps too, so they take no lock.
    class DevelopmentServer
      EXECUTABLE = File.expand_path("../../../exe/penstock", __dir__)
      # Id of the child that a process which replaces itself by `exec` leaves to its successor.
      LEFT = "PENSTOCK_DEVELOPMENT_PID"

      # @param command [Array<String>] the child
      # @param errors [IO] receives the reports
      def initialize(command: [RbConfig.ruby, EXECUTABLE, "development", "--stop-with-stdin"], errors: $stderr)
        @command = command
        @errors = errors
      end

      # Begins in the background: a child that the process before the `exec` left may still finish its work.
      # @return [void]
      def start
        left = ENV.delete(LEFT)
        @input, @alive = IO.pipe
        @thread = Thread.new do
          await(@pid = Integer(left)) if left
          run unless @stopping
        end
      end

      # Stops the child and waits until it has ended. Further Ctrl-C shorten the wait, as they do in the child's own terminal.
      # Does nothing if no child was started.
      # @return [void]
      def stop
        return unless @thread
        @stopping = true
        before = trap("INT") { hurry }
        @alive.close unless @alive.closed?
        @thread.join
      ensure
        trap("INT", before) if before
      end

      # Before this process replaces itself by `exec`: that closes the pipe, and the successor waits for the child before it
      # starts its own. If the process isn't replaced, as in Puma's phased restart, the child continues.
      # @return [void]
      def hand_over
        ENV[LEFT] = @pid.to_s if @pid
      end

      private

      def hurry
        ::Process.kill(:INT, @pid) if @pid
      rescue Errno::ESRCH
        nil # it has ended
      end

      def run
        @pid = ::Process.spawn(*@command, in: @input, pgroup: true, close_others: true)
        @input.close
        status = await(@pid)
        @pid = nil
        report(status) unless @stopping
      end

      # Puma's cluster waits for all children of its process, and may get this one's status.
      # @return [Process::Status, nil]
      def await(pid)
        ::Process.wait2(pid).last
      rescue Errno::ECHILD
        nil
      end

      def report(status)
        @errors.puts "penstock: the server of the consumers has ended#{manner(status)}; the reason is above. Requests are " \
                     "served without it. Start it again with `bin/rails restart` (in other applications: USR2 to Puma)."
      end

      def manner(status)
        return unless status
        status.signaled? ? " by SIG#{Signal.signame(status.termsig)}" : " with code #{status.exitstatus}"
      end
    end
  end
end
