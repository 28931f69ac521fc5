# frozen_string_literal: true

module Penstock
  module Runtime
    # Decides which suspects may run at the same time in a process, across its loops. Suspects without a counted crash may run at
    # the same time, each alone in its lane: a crash then counts against all of them. A suspect with a counted crash runs only
    # when no other suspect does, so that a crash that another record causes isn't counted against it again and again.
    #
    # Any loop's thread; one lock, held for a few operations.
    class CrashGate
      # While a suspect waits until it is the only one, no other may begin; its claim expires this long after its last attempt.
      CLAIM_MS = 1_000

      Inside = Struct.new(:suspects, :exclusive)
      private_constant :CLAIM_MS, :Inside

      def initialize
        @lock = Mutex.new
        @inside = []
        @claim = nil
        @claimed_at = 0
      end

      # @param suspects [Processing::Failure::CrashCounts] of the lane, of which none runs
      # @param exclusive [Boolean] whether it must be the only one
      # @param now [Integer] monotonic ms
      # @yield when it may run: announces it
      # @return [Boolean]
      def enter(suspects, exclusive, now)
        @lock.synchronize do
          @inside.select! { |entry| entry.suspects.announced? && !entry.suspects.equal?(suspects) }
          next claim(suspects, exclusive, now) unless room?(suspects, exclusive, now)
          yield
          @claim = nil if @claim.equal?(suspects)
          @inside << Inside.new(suspects, exclusive)
          true
        end
      end

      private

      def room?(suspects, exclusive, now)
        return @inside.empty? if exclusive
        @inside.none?(&:exclusive) && unclaimed?(suspects, now)
      end

      def unclaimed?(suspects, now) = @claim.nil? || @claim.equal?(suspects) || now - @claimed_at > CLAIM_MS

      def claim(suspects, exclusive, now)
        return false if !exclusive || !unclaimed?(suspects, now)
        @claim = suspects
        @claimed_at = now
        false
      end
    end
  end
end
