# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # The keys that may run, first come, first served. Owned by {ByKey}.
      #
      # Keys that run again are counted apart: they can be due faster than workers run them, and must not keep new records from
      # being taken.
      class ReadyKeys
        def initialize
          @runs = []
          @again = 0
        end

        def size = @runs.size

        # @return [KeyRun, nil]
        def first = @runs.first

        # @return [KeyRun, nil]
        def find(&) = @runs.find(&)

        # @return [Boolean] whether one may run now: since it was queued, it may have been parked or may have lost its records
        def any_ready? = @runs.any?(&:ready?)

        # @return [Integer] keys that don't run again
        def fresh = @runs.size - @again

        # @return [Boolean] whether one of them may run now
        def fresh_ready? = fresh.positive? && @runs.any? { |run| !run.again && run.ready? }

        # @param run [KeyRun] that isn't queued
        def push(run)
          run.queued = true
          @again += 1 if run.again
          @runs << run
        end

        # @return [KeyRun] the first
        def shift = left(@runs.shift)

        # Looks at the last place first: a key that fails was queued there when its unit came back.
        # @param run [KeyRun]
        # @return [KeyRun]
        def delete(run)
          return run unless run.queued
          @runs.last.equal?(run) ? @runs.pop : @runs.delete_if { |one| one.equal?(run) }
          left(run)
        end

        # @param run [KeyRun] whose first records have run before; it may be queued
        def again(run)
          @again += 1 if run.queued && !run.again
          run.again = true
        end

        # Removes the first keys as long as they may not run.
        def tidy
          shift until @runs.empty? || @runs.first.ready?
        end

        def clear
          @runs.each { |run| run.queued = false }.clear
          @again = 0
        end

        private

        def left(run)
          run.queued = false
          @again -= 1 if run.again
          run
        end
      end
    end
  end
end
