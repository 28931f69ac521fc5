# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Holds the parked keys, each with the time (monotonic ms) at which its wait ends, or nil if only a release ends it.
      class Parking
        def initialize
          @due = {}.compare_by_identity
          @next_due = nil
        end

        def size = @due.size

        # @return [Integer, nil] the earliest time
        attr_reader :next_due

        # @param run [KeyRun]
        # @param at [Integer, nil]
        def add(run, at)
          @due[run] = at
          @next_due = [@next_due, at].compact.min
        end

        # @param at [Integer]
        # @return [Boolean] whether the key's wait ends by itself before that time
        def ends_before?(run, at) = (due = @due[run]) ? due < at : false

        # @param run [KeyRun]
        def delete(run)
          at = @due.delete(run)
          update_next_due if at && at == @next_due
        end

        # @param now [Integer]
        # @yieldparam run [KeyRun] whose time has come
        def expire(now)
          return if @next_due.nil? || @next_due > now
          over = @due.select { |_run, at| at && at <= now }.keys
          over.each { |run| @due.delete(run) }
          update_next_due
          over.each { |run| yield run }
        end

        def clear
          @due.clear
          @next_due = nil
        end

        private

        def update_next_due = @next_due = @due.each_value.compact.min
      end
    end
  end
end
