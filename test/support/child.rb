# frozen_string_literal: true

require_relative "wait"

module Penstock
  module TestSupport
    # Runs one child process in a process group of its own, with a deadline. The group is ended with it, by number, so
    # that nothing the child started is left and no other process is touched.
    class Child
      Result = Struct.new(:status, :timed_out, :seconds, keyword_init: true) do
        def success?
          !timed_out && status.success?
        end

        def to_s
          return format("stopped after its limit of %d s", seconds) if timed_out
          return "ended by signal #{Signal.signame(status.termsig)}" if status.signaled?

          "ended with exit code #{status.exitstatus}"
        end
      end

      def self.run(command, timeout:, env: {}, **options)
        new(command, timeout: timeout, env: env, **options).run
      end

      def initialize(command, timeout:, env: {}, **options)
        @command = command
        @timeout = timeout
        @env = env
        @options = options
      end

      def run
        started = now
        @pid = ::Process.spawn(@env, *@command, pgroup: true, **@options)
        status = await
        Result.new(status: status || force, timed_out: status.nil?, seconds: now - started)
      ensure
        kill_group if @pid
      end

      private

      def await
        Wait.wait_until(@timeout, every: 0.02) { ended }
      rescue Wait::TimeoutError
        nil
      end

      def ended
        pid, status = ::Process.wait2(@pid, ::Process::WNOHANG)
        status if pid
      end

      def force
        kill_group
        ::Process.wait2(@pid).last
      end

      def kill_group
        ::Process.kill(:KILL, -@pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end

      def now
        ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
