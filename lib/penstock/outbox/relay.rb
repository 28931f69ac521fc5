# frozen_string_literal: true

require_relative "../clock"
require_relative "../doubling"
require_relative "../errors"
require_relative "closed_topics"
require_relative "outage"
require_relative "turn"

module Penstock
  module Outbox
    # Sends rows to Kafka, turn after turn, until it is stopped. Any number of relays may run for a table, in any processes: a
    # lock in the database allows one turn at a time. Owns its producer.
    #
    #     relay = Penstock::Outbox.relay
    #     relay.start                # a thread of its own
    #     relay.stop                 # what is in flight may end
    #
    # {#run} does the same on the calling thread, {#drain} only until nothing is left to be sent. A relay can run once, in the
    # process that started it.
    class Relay
      # Wait between two tries while the database is unavailable: doubles from the first value up to the second.
      TROUBLE_MS = [500, 30_000].freeze
      # Time between two searches for held rows whose parked row no longer exists.
      SWEEP_MS = 60_000

      # @param store [Store]
      # @param settings [Settings]
      # @param monitor [Instrumentation::Monitor]
      # @param clock [Clock]
      # @yieldreturn [Producer] a new producer, which the relay will close
      def initialize(store, settings, monitor:, clock: Clock::SYSTEM, &make_producer)
        @store = store
        @settings = settings
        @monitor = monitor
        @clock = clock
        @make_producer = make_producer
        @closed = ClosedTopics.new(settings, clock)
        @outage = Outage.new
        @lock = Mutex.new
        @woken = ConditionVariable.new
        @halt = :go
        @unsettled = []
        @troubles = 0
        @last_ms = {}
      end

      # Runs the relay on a thread of its own.
      #
      # @return [self]
      # @raise [ConfigurationError] the table can't keep an order, or doesn't exist; or the producer can't be used
      def start
        raise ConfigurationError, "this relay has run already: create another one" if @thread

        check!
        @thread = Thread.new { run_and_report }
        @thread.name = "penstock outbox"
        @thread.report_on_exception = false
        self
      end

      # Runs until {#stop!}. Errors of the database or the cluster are emitted, and retried.
      #
      # @return [void]
      # @raise [ConfigurationError] the table can't keep an order, or doesn't exist; or the producer can't be used
      def run
        check!
        @monitor.instrument("outbox.relay_started", table: @settings.table)
        pause(attempt) while going?
      ensure
        close
        @monitor.instrument("outbox.relay_stopped", table: @settings.table)
      end

      # Sends what can be sent now. While another relay has its turn it does nothing, because that one sends the rows.
      #
      # @return [Integer] messages that it has delivered itself; 0 at once if another relay had its turn
      # @raise [ActiveRecord::ActiveRecordError, KafkaError, ProduceError] database or cluster are unavailable
      # @raise the error of the producer's middleware, if it failed for every row
      def drain
        delivered = 0
        while going?
          turn = exclusive_turn
          break if turn == :busy

          delivered += turn.settlement.done.size if turn.settlement
          error = @outage.update(turn.settlement)
          raise error if error && !@outage.probing?
          break unless error || turn.settlement&.any?
        end
        delivered
      ensure
        close
      end

      # Makes the relay read the table at once. Any thread.
      # @return [void]
      def wake
        @lock.synchronize do
          @called = true
          @woken.signal
        end
      end

      # Starts nothing new; what is in flight may finish within `stop_timeout`. Doesn't wait. Any thread, but not a signal
      # handler.
      # @return [void]
      def stop!
        @halt_at = @clock.monotonic_ms + @settings.stop_timeout
        @halt = :finish
        wake
      end

      # {#stop!}, then waits until the thread of {#start} has ended.
      #
      # @return [Boolean] false if the thread still runs after the time limit
      # @raise the error that ended the thread
      def stop
        stop!
        return true unless @thread

        !@thread.join((@settings.stop_timeout + 5_000) / 1_000.0).nil?
      end

      # @return [Boolean] whether the thread of {#start} is alive
      def running? = @thread&.alive? || false

      private

      def going? = @halt == :go

      # A new producer doesn't connect before its first message.
      def check!
        @store.check!
        producer
      end

      # Emits the error, since no other thread may be waiting for this one. It may be of any class: a NotImplementedError of the
      # producer's middleware isn't a StandardError.
      def run_and_report
        run
      rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised again
        trouble(error)
        raise
      end

      # @return [Integer] milliseconds to wait before the next turn
      def attempt
        turn = exclusive_turn
        emit_lag
        return after(turn.settlement) unless turn == :busy

        @troubles = 0
        @settings.poll_interval
      rescue ConfigurationError
        raise
      rescue => error
        trouble(error)
      end

      # Limits the wait, so that a row inserted while others are stuck waits no longer than those would if they were parked.
      def after(settlement)
        error = @outage.update(settlement)
        return [settlement ? trouble(error) : trouble_ms, Settlement::STUCK_MS].min if error

        @troubles = 0
        settlement&.any? ? 0 : @settings.poll_interval
      end

      # @return [Turn, :busy]
      def exclusive_turn
        turn = Turn.new(@store, @settings, @closed, @clock, @outage)
        answer = @store.exclusively { |look_after| take_turn(turn, look_after) }
        return :busy if answer == :busy

        @unsettled = []
        emit_events(turn.settlement) if turn.settlement
        turn
      rescue
        @unsettled |= turn.unsettled
        raise
      end

      def take_turn(turn, look_after)
        @store.acknowledged(@unsettled)
        sweep
        turn.run(producer: method(:producer), look_after: look_after, halt: method(:halt))
        renew_producer
      ensure
        drop_queued if turn.flying?
      end

      # Called while the lock is held: queued messages must not be sent once another relay may have its turn.
      def drop_queued
        @producer&.purge
      rescue ProducerClosedError, ForkedHandleError
        nil # the producer has no queue any more
      end

      # Releases held rows whose parked row was deleted by hand.
      def sweep
        @store.release_orphans if begin_due(:sweep, SWEEP_MS)
      end

      # @return [Boolean] whether it is time for a periodic task, which then counts as done
      def begin_due(what, interval_ms)
        now = @clock.monotonic_ms
        last = @last_ms[what]
        return false if last && now - last < interval_ms

        @last_ms[what] = now
        true
      end

      def halt
        return @halt unless @halt == :finish && @clock.monotonic_ms >= @halt_at

        :abandon
      end

      # With a transactional producer nothing is acknowledged before the transaction ends, but the table needs it row by row.
      def producer
        @producer ||= @make_producer.call.tap do |made|
          next unless made.respond_to?(:transactional?) && made.transactional?

          made.close(timeout_ms: 0)
          raise ConfigurationError.new([Problem.new("outbox: producer", "has a transactional.id", "Remove it")])
        end
      end

      # A producer whose client had a fatal error can't send any more.
      def renew_producer
        close if @producer.respond_to?(:fatal_error) && @producer.fatal_error
      end

      # By now every message was reported, or the relay no longer waits for it.
      def close
        @producer&.close(timeout_ms: 1_000)
        @producer = nil
      end

      def trouble(error)
        @monitor.instrument("error.occurred", type: "outbox.relay.error", error: error, attempt: @troubles += 1)
        renew_producer
        trouble_ms
      end

      def trouble_ms = Doubling.wait(TROUBLE_MS.first, @troubles - 1, TROUBLE_MS.last)

      def emit_events(settlement)
        delivered = settlement.done.size
        @monitor.instrument("outbox.relayed", table: @settings.table, messages_count: delivered) if delivered.positive?
        settlement.reports.each do |one|
          payload = {table: @settings.table, **one.to_h.except(:event)}
          @monitor.instrument(one.event, payload.compact)
        end
      end

      # Runs queries, so only if there is a subscriber.
      def emit_lag
        return unless @monitor.subscribed?("outbox.lag") && begin_due(:lag, @settings.lag_interval)

        lag = @store.lag
        @monitor.instrument("outbox.lag", table: @settings.table, count: lag.pending, oldest_age_ms: lag.oldest_age_ms,
          parked: lag.parked, held: lag.held, aside: lag.aside)
      end

      def pause(milliseconds)
        return if milliseconds.zero?

        @lock.synchronize do
          @woken.wait(@lock, milliseconds / 1_000.0) unless @called || !going?
          @called = false
        end
      end
    end
  end
end
