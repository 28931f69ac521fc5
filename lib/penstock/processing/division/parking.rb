# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Holds the parked keys: each waits until a time (monotonic ms), for a release, or for both. No wait shortens another one:
      # the later time counts, and a time that hasn't come when the key is released still counts.
      class Parking
        def initialize
          @due = {}.compare_by_identity
          @held = {}.compare_by_identity
          @next_due = nil
        end

        def size = @due.size + @held.size

        # @return [Integer, nil] the earliest time at which the wait of a key ends by itself
        attr_reader :next_due

        # @param run [KeyRun]
        # @param at [Integer, nil] nil: until it is released
        def add(run, at)
          known = @held.key?(run) ? @held[run] : delete(run)
          later = [known, at].compact.max
          return @held[run] = later if at.nil? || @held.key?(run)
          @due[run] = later
          @next_due = [@next_due, later].compact.min
        end

        # @param run [KeyRun]
        # @return [Boolean] whether it waits for a release
        def held?(run) = @held.key?(run)

        # @param run [KeyRun]
        # @return [Boolean] whether its wait has ended; false: a time is left
        def release(run)
          at = @held.delete(run)
          at ? add(run, at) : delete(run)
          at.nil?
        end

        # @param run [KeyRun] that waits until a time
        # @return [Integer, nil] the time
        def delete(run)
          at = @due.delete(run)
          update_next_due if at && at == @next_due
          at
        end

        # @param now [Integer]
        # @yieldparam run [KeyRun] whose time has come
        def expire(now)
          return if @next_due.nil? || @next_due > now
          over = @due.select { |_run, at| at <= now }.keys
          over.each { |run| @due.delete(run) }
          update_next_due
          over.each { |run| yield run }
        end

        def clear
          @due.clear
          @held.clear
          @next_due = nil
        end

        private

        def update_next_due = @next_due = @due.each_value.min
      end
    end
  end
end
