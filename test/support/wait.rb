# frozen_string_literal: true

require "etc"

module Penstock
  module TestSupport
    # Waits for a condition with a deadline; the only place of the tests that sleeps.
    #
    # Deadlines are for a machine with nothing else to do. Where more threads want to run than there are cores, a wait
    # gets that many times as long, up to {MOST}: a deadline is there to end a test that hangs, not to measure the
    # machine.
    module Wait
      class TimeoutError < StandardError; end

      # Under a memory checker everything takes longer; bin/test sets the factor.
      TIME_FACTOR = Float(ENV.fetch("PENSTOCK_TIME_FACTOR", "1"))

      MOST = 4

      module_function

      # Calls the block until it returns something true, and returns that. The longer it has waited the less often it
      # checks, by at most a twentieth of the time waited: checking is work, and takes time from what is waited for.
      #
      # @param deadline [Numeric] seconds
      # @param what [String, nil] what is waited for, for the error message
      # @param state [Proc, nil] called on a timeout; returns the state that the message shows
      # @param every [Numeric] seconds between two checks at first
      def wait_until(deadline = 10, what = nil, state: nil, every: 0.005)
        started = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
        loop do
          value = yield
          return value if value
          waited = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - started
          break if waited > deadline * TIME_FACTOR && waited > deadline * TIME_FACTOR * busy

          sleep((waited / 20).clamp(every, [every, 0.05].max))
        end
        raise TimeoutError, timeout_message(deadline, what, state)
      end

      # How many times more work wants to run than there are cores, within limits.
      def busy
        (File.read("/proc/loadavg").to_f / Etc.nprocessors).clamp(1, MOST)
      rescue SystemCallError
        1
      end

      # Lets time pass where a test has to show that something does *not* happen; the test sets how long. The block must
      # be true all the time.
      def observe_for(seconds)
        return sleep(seconds) unless block_given?

        ends = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + seconds
        loop do
          yield
          break if ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > ends
          sleep(0.01)
        end
      end

      def timeout_message(deadline, what, state)
        place = caller_locations.find { |line| line.path != __FILE__ }
        text = "after #{deadline} s still no #{what || "true answer from the condition at #{place}"}"
        state ? "#{text}; state: #{state.call.inspect}" : text
      end
    end
  end
end
