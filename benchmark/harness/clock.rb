# frozen_string_literal: true

module Bench
  # One monotonic clock for the harness, its children and the C programs: on one machine their stamps may be subtracted.
  def self.now_ns
    ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :nanosecond)
  end
end
