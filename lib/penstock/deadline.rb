# frozen_string_literal: true

require_relative "clock"

module Penstock
  # A point in time by which something must have ended, on a monotonic clock. An immutable value: the stages of a stop share one
  # and ask it for the remaining time, instead of adding up their own time limits.
  class Deadline
    # @return [Integer, nil] monotonic milliseconds; nil when there is no limit
    attr_reader :at_ms

    # @return [Integer, nil] milliseconds from its creation to its end, if known
    attr_reader :length_ms

    class << self
      # @param timeout_ms [Integer, nil] milliseconds from now; nil for no limit
      # @param clock [Clock]
      # @return [Deadline]
      def in(timeout_ms, clock: Clock::SYSTEM)
        new(timeout_ms && (clock.monotonic_ms + timeout_ms), clock: clock, length_ms: timeout_ms)
      end

      # @return [Deadline] one that never expires
      def never(clock: Clock::SYSTEM)
        new(nil, clock: clock)
      end
    end

    # @param at_ms [Integer, nil] monotonic milliseconds; nil for no limit
    def initialize(at_ms, clock: Clock::SYSTEM, length_ms: nil)
      @at_ms = at_ms
      @length_ms = length_ms
      @clock = clock
      freeze
    end

    # @return [Integer, nil] milliseconds left, never below 0; nil when there is no limit
    def remaining_ms
      return unless @at_ms

      [@at_ms - @clock.monotonic_ms, 0].max
    end

    # @param limit_ms [Integer] the longest wait the caller wants
    # @return [Integer] milliseconds to wait now: the remaining time, at most `limit_ms`
    def wait_ms(limit_ms)
      left = remaining_ms
      (left && left < limit_ms) ? left : limit_ms
    end

    # @return [Boolean]
    def expired?
      !@at_ms.nil? && @clock.monotonic_ms >= @at_ms
    end

    # @param timeout_ms [Integer] milliseconds from now
    # @return [Deadline] the sooner of this one and one `timeout_ms` from now: never later than this one
    def within(timeout_ms)
      other = @clock.monotonic_ms + timeout_ms
      (@at_ms && @at_ms <= other) ? self : self.class.new(other, clock: @clock)
    end

    # @param margin_ms [Integer] milliseconds reserved for later stages
    # @return [Deadline] one that ends `margin_ms` earlier
    def before(margin_ms)
      @at_ms ? self.class.new(@at_ms - margin_ms, clock: @clock) : self
    end
  end
end
