# frozen_string_literal: true

module Penstock
  # The time, handed in wherever something decides by it, so that tests and simulator can put another one in its place.
  # Holds no state; any thread may ask. All answers are Integers.
  class Clock
    # @return [Integer] milliseconds of a clock that only ever goes forward; only differences mean something
    def monotonic_ms
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :millisecond)
    end

    # @return [Integer] microseconds of the same clock, for what ends sooner than a millisecond
    def monotonic_us
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :microsecond)
    end

    # @return [Integer] milliseconds since 1970, comparable with the timestamps of records
    def wall_ms
      ::Process.clock_gettime(::Process::CLOCK_REALTIME, :millisecond)
    end

    # The clock of the machine, for those who were handed none.
    SYSTEM = new.freeze
  end
end
