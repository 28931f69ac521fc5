# frozen_string_literal: true

# A clock that moves only when a test moves it: the virtual twin of Penstock::Clock.
class VirtualClock
  attr_reader :monotonic_ms, :wall_ms

  def initialize(monotonic_ms: 1_000, wall_ms: 1_700_000_000_000)
    @monotonic_ms = monotonic_ms
    @wall_ms = wall_ms
  end

  def monotonic_us = monotonic_ms * 1_000

  # Lets `duration_ms` pass on both clocks.
  def advance(duration_ms)
    @monotonic_ms += duration_ms
    @wall_ms += duration_ms
    self
  end

  # As an operator or NTP does: the wall clock jumps, the monotonic one doesn't.
  def jump_wall(duration_ms)
    @wall_ms += duration_ms
    self
  end
end
