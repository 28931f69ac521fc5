# frozen_string_literal: true

module Penstock
  # The time, passed to every class that makes decisions by it, so that tests and the simulator can replace it. Stateless; any
  # thread. All results of an instance are Integers.
  class Clock
    # For waits and deadlines that no test replaces.
    class << self
      # @return [Float] seconds of a monotonic clock
      def seconds = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      # @return [Float] milliseconds of the same clock
      def milliseconds = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :float_millisecond)
    end

    # @return [Integer] milliseconds of a monotonic clock; only differences are meaningful
    def monotonic_ms
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :millisecond)
    end

    # @return [Integer] microseconds of the same clock, for durations below a millisecond
    def monotonic_us
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :microsecond)
    end

    # @return [Integer] milliseconds since 1970, comparable with the timestamps of records
    def wall_ms
      ::Process.clock_gettime(::Process::CLOCK_REALTIME, :millisecond)
    end

    # The clock of the machine, the default.
    SYSTEM = new.freeze
  end
end
