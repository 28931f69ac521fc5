# frozen_string_literal: true

require_relative "../processing/failure/breaker"

module Penstock
  module Runtime
    # Shares a topic's breaker among all poll loops of a process: the topic's partitions, and those of its retry topics, may be
    # on several connections. Any thread; one lock, held for a few operations and never while calling out. Lives as long as the
    # application runs, across connections.
    class SharedBreaker
      # How much later than other loops a loop may probe that has only records to retry.
      LATE_MS = 50
      private_constant :LATE_MS

      # @param breaker [Processing::Failure::Breaker]
      # @param clock [Clock]
      def initialize(breaker, clock)
        @breaker = breaker
        @clock = clock
        @lock = Mutex.new
        @mailboxes = []
        @events = []
      end

      # Read without the lock: each call reads a single value.
      def closed? = @breaker.closed?
      def ignores_success? = @breaker.ignores_success?
      def state = @breaker.state
      def due = @breaker.due
      def ends_at = @breaker.ends_at
      def cause = @breaker.cause
      def topics = @breaker.topics

      def failing? = @breaker.failing?

      # Between several loops a failure may overtake a success that came before it.
      # @return [Boolean] whether successes have to be read soon
      def awaits_success? = @mailboxes.size > 1 && (failing? || !ignores_success?)

      # A unit succeeded while something is failing.
      # @param unit [Processing::Unit]
      def unit_succeeded(unit) = @lock.synchronize { @breaker.unit_succeeded(unit) }

      # Fresh records start on a worker. Takes no lock once enough sequences are known.
      # @param count [Integer]
      # @param unit [Processing::Unit] their unit
      # @return [Integer] number of the first
      def number_records(count, unit)
        number = @breaker.take_numbers(count)
        if @breaker.sequences_missing?
          sequence = unit.sequence || number
          @lock.synchronize { @breaker.add_sequence(sequence) }
        end
        number
      end

      # @param attempt [Processing::Failure::Breaker::Attempt]
      # @return [Symbol]
      # @see Processing::Failure::Breaker#failed
      def failed(attempt, now)
        awaited = awaits_success?
        verdict = @lock.synchronize do
          @breaker.failed(attempt, now).tap do |answer|
            @events << ["breaker.opened", opened(attempt, now)] if answer == :opened
          end
        end
        # If a probe ended without a result, another loop may send the next.
        wake if attempt.probe || verdict != :counted || (!awaited && awaits_success?)
        verdict
      end

      # @see Processing::Failure::Breaker#succeeded
      def succeeded(**what)
        return false if ignores_success?
        announce(:success) { @breaker.succeeded(**what) }
      end

      # @param now [Integer] monotonic ms
      # @param fresh [Boolean] whether the record to be probed is fresh: fresh ones go first, on whichever connection they are
      # @return [Boolean] whether the caller sends it
      def probe(now, fresh:)
        @lock.synchronize do
          next false unless @breaker.probe?(fresh ? now : now - late_ms)
          @breaker.begin_probe
          true
        end
      end

      # @param fresh [Boolean]
      # @return [Integer, nil] monotonic ms at which it may be sent
      def probe_at(fresh:)
        due = @breaker.due
        due && (fresh ? due : due + late_ms)
      end

      def probe_lost = (wake if @lock.synchronize { @breaker.probe_lost(@clock.monotonic_ms) })

      # Ends a hold that has lasted as long as it may.
      # @param now [Integer] monotonic ms
      def expire(now) = announce(:limit) { @breaker.limit_reached?(now) && @breaker.end_hold }

      # Ends the hold because a user requested it.
      # @return [Boolean] whether there was one
      def close_by_hand = announce(:command) { @breaker.end_hold }

      # @return [Array(String, Hash), nil] an event that one of the loops has to emit
      def take_event = @events.empty? ? nil : @lock.synchronize { @events.shift }
      def events? = !@events.empty?

      # Wakes a poll loop whenever the state changes.
      # @param mailbox [Mailbox]
      def watch(mailbox) = @lock.synchronize { @mailboxes |= [mailbox] }

      # @param mailbox [Mailbox]
      def unwatch(mailbox) = @lock.synchronize { @mailboxes -= [mailbox] }

      # @return [Hash, nil] for snapshots; nil while it is closed
      def to_h
        now = @clock.monotonic_ms
        @lock.synchronize do
          next if @breaker.closed?
          ends = @breaker.ends_at
          {topics: topics, cause: @breaker.cause, error: @breaker.error, held_ms: now - @breaker.since,
           left_ms: ends && (ends - now)}
        end
      end

      private

      def opened(attempt, now)
        topic, partition, offset = attempt.record
        ends = @breaker.ends_at
        {topic: topic, partition: partition, offset: offset, error: attempt.error, topics: topics, cause: @breaker.cause,
         count: @breaker.failures, of: @breaker.of, limit: ends && (ends - now),
         ended_by: "a record that succeeds#{", the limit" if ends}, or `penstock breaker close --pid #{::Process.pid}`"}
      end

      def late_ms = (@mailboxes.size > 1) ? LATE_MS : 0

      # @param reason [Symbol] of `breaker.closed`, if the block closes the breaker
      # @return [Boolean] whether it closed
      def announce(reason)
        closed = @lock.synchronize do
          cause, since = @breaker.cause, @breaker.since
          next false unless yield
          @events << ["breaker.closed", {topic: topics.first, topics: topics, reason: reason, cause: cause,
                                         held_ms: @clock.monotonic_ms - since}]
          true
        end
        wake unless closed.nil?
        closed
      end

      def wake = @mailboxes.each(&:wake_up)
    end
  end
end
