# frozen_string_literal: true

require_relative "policy"

module Penstock
  module Swarm
    # Keeps the state of the mold and decides what to do about it: events and the time come in, {#decide} answers. Pure, as the
    # {Registry} is. Belongs to the supervisor's main thread; docs/internals/swarm.md has the table of states.
    class MoldLife
      # Molds in a row that ended without having spawned a node; after them nodes are forked without a mold.
      TRIES = 3

      # @return [Symbol] :none, :warming, :idle, :asked, :killed, :given_up
      attr_reader :state
      # @return [String, nil] why it was killed, how the last one ended
      attr_reader :reason
      # @return [Integer, nil] ms (monotonic) when the next mold is forked
      attr_reader :due_at

      # @param policy [Policy]
      # @param now [Integer] ms
      def initialize(policy, now)
        @policy = policy
        @state = :none
        @due_at = now
        @deaths = @number = 0
      end

      def idle? = @state == :idle
      def asked? = @state == :asked
      def given_up? = @state == :given_up
      # @return [Boolean] whether any mold has been ready to spawn
      def ever_warm? = @ever_warm == true

      # --- what happened

      def forked(now)
        @spawned = false
        @warm_at = @due_at = @reason = nil
        enter(:warming, @policy.mold_late_at(now))
      end

      def warm(now)
        return unless @state == :warming
        @ever_warm = true
        @warm_at = now
        enter(:idle)
      end

      # @return [Integer] the request's number
      def asked(now)
        enter(:asked, now + @policy.mold_answer_ms)
        @number += 1
      end

      # @return [Boolean] whether this answers the current request
      def answered(number, spawned)
        return false unless asked? && number == @number
        @spawned ||= spawned
        cancel
        true
      end

      # The answer isn't wanted any more.
      def cancel
        enter(:idle) if asked?
      end

      # @param reason [String] what it said of itself; it ends by itself
      def failed(reason) = @reason ||= reason

      # It was waited for, or couldn't be forked.
      # @param how [String] in words
      def ended(how, now)
        @reason ||= how
        @deaths = lived?(now) ? 0 : @deaths + 1
        return give_up(@reason) if @deaths >= TRIES
        enter(:none)
        @due_at = now + (@policy.wait_ms(@deaths) || 0)
      end

      # It was killed and doesn't end, as a process that the kernel holds: nobody waits for it any more.
      def abandoned(now)
        @reason = "#{@reason}, and it isn't gone #{Policy::GRACE_MS} ms after SIGKILL"
        ended(@reason, now)
      end

      # There is no mold any more.
      def give_up(reason)
        @reason = reason
        enter(:given_up)
      end

      # The supervisor itself was frozen.
      def extend_deadlines(now)
        @deadline_at = [@deadline_at, now + @policy.interval_ms].max if @deadline_at
      end

      # --- decisions

      # @return [Symbol, nil] :fork, :kill, :abandon
      def decide(now)
        return :fork if @state == :none && now >= @due_at
        return unless @deadline_at && now >= @deadline_at
        return :abandon if @state == :killed
        @reason ||= asked? ? "it didn't answer within #{@policy.mold_answer_ms} ms" : "it wasn't warm in time"
        enter(:killed, now + Policy::GRACE_MS)
        :kill
      end

      # @return [Integer, nil] when to decide again if nothing happens
      def next_due = (@state == :none) ? @due_at : @deadline_at

      private

      # A mold that was idle for an interval, because no node died, counts as a good one too.
      def lived?(now) = @spawned || (idle? && now - @warm_at >= @policy.interval_ms)

      def enter(state, deadline_at = nil)
        @state = state
        @deadline_at = deadline_at
      end
    end
  end
end
