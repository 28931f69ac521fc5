# frozen_string_literal: true

module Bench
  # One monotonic clock for the harness, its children and the C programs: on one machine their stamps may be subtracted.
  def self.now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  # Waits until the block answers something true; for the harness alone, never for what is measured.
  #
  # @param seconds [Numeric] deadline
  # @param what [String] what is awaited, for the error
  # @raise [RuntimeError] when the deadline passed
  def self.await(what, seconds:)
    deadline = now_ns + (seconds * 1_000_000_000)
    loop do
      answer = yield
      return answer if answer
      raise "waited #{seconds} s for #{what}" if now_ns > deadline

      sleep 0.05
    end
  end
end
