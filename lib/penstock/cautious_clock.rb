# frozen_string_literal: true

module Penstock
  # The wall clock as far as it is trusted, for judging a record's age. A clock that jumps ahead isn't trusted before it was seen
  # ahead for a `window_ms` of the caller's choice, on the monotonic clock; one that is set back is trusted at once. So a jump
  # neither admits a record early nor drops one.
  #
  # It has to be read regularly, also while there are no records: a jump can only be noticed by a clock that was read before it.
  # Of the time between two readings at most {UNREAD_MS} count as seen.
  #
  # After a suspend of the machine the clock seems to have been set ahead: records are then late by at most the window.
  #
  # One per process, read by its poll loops. Any thread; never waits.
  class CautiousClock
    # Counts as seen between two readings: several turns of an idle poll loop.
    UNREAD_MS = 5_000
    # An offset that was seen for that long is trusted by everybody, so that the list of offsets ends.
    LONGEST_MS = 7 * 86_400_000
    # Offsets that are remembered.
    MOST = 50
    # The wall clock was at least `offset` ms beyond the monotonic one since `since_ms`.
    Rise = Struct.new(:since_ms, :offset)
    private_constant :UNREAD_MS, :LONGEST_MS, :MOST, :Rise

    # @param clock [Clock]
    # @return [CautiousClock] that was read once
    def self.start(clock) = new.tap { |cautious| cautious.read(clock.monotonic_ms, clock.wall_ms) }

    def initialize
      @rises = [].freeze
      @read_at = nil
      @lock = Mutex.new
    end

    # Notes how far the clock is. Left out while another thread does it.
    # @param now_ms [Integer] monotonic; read before the wall clock
    # @param wall_ms [Integer] since the epoch
    # @return [void]
    def read(now_ms, wall_ms)
      return unless @lock.try_lock

      begin
        offset = wall_ms - now_ms
        # A thread may come late with its reading: the offset then looks further ahead than it is, and the next one corrects it.
        now_ms = @read_at if @read_at && now_ms < @read_at
        unread(now_ms - @read_at - UNREAD_MS) if @read_at && now_ms - @read_at > UNREAD_MS
        @read_at = now_ms
        @rises = risen(now_ms, offset).freeze unless @rises.last&.offset == offset
      ensure
        @lock.unlock
      end
    end

    # @param now_ms [Integer] monotonic; read before the wall clock
    # @param wall_ms [Integer] since the epoch
    # @param window_ms [Integer] how long the clock must have been seen ahead
    # @return [Integer] ms since the epoch to compare with, never later than the wall clock
    def call(now_ms, wall_ms, window_ms)
      read(now_ms, wall_ms)
      rises = @rises
      trusted = rises.reverse_each.find { |rise| now_ms - rise.since_ms >= window_ms } || rises.first
      trusted ? [now_ms + trusted.offset, wall_ms].min : wall_ms
    end

    private

    # The first offset is trusted by everybody: its time doesn't matter.
    def unread(duration_ms)
      first, *others = @rises
      @rises = [first, *others.map { |rise| Rise.new(rise.since_ms + duration_ms, rise.offset) }].freeze
    end

    # Offsets from the first that is as far or further are replaced: since then the clock was at least as far as it is now.
    def risen(now_ms, offset)
      rises = @rises.take_while { |rise| rise.offset < offset }
      further = @rises[rises.size]
      rises << Rise.new(further ? further.since_ms : now_ms, offset)
      rises.shift while rises.size > 1 && now_ms - rises[1].since_ms >= LONGEST_MS
      rises.delete_at(dispensable(rises, now_ms)) if rises.size > MOST
      rises
    end

    # Without it, its offset is trusted only together with the next one. So the gaps may grow with the age, not the newest ones.
    def dispensable(rises, now_ms)
      (1...(rises.size - 1)).min_by do |index|
        (rises[index + 1].since_ms - rises[index - 1].since_ms) / (now_ms - rises[index + 1].since_ms + 1).to_f
      end
    end
  end
end
