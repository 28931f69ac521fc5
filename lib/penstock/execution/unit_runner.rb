# frozen_string_literal: true

require_relative "../consumer/context"
require_relative "../errors"
require_relative "../native/fork"
require_relative "../on_demand"
require_relative "../processing/failure/forecast"
require_relative "../processing/unit"
require_relative "retry_offset"
Penstock.load_constant :ExpiredError

module Penstock
  module Execution
    # Runs one unit: finds or creates the lane's consumer, calls its method inside the middleware, and turns the result into an
    # outcome. Errors of user code never leave it.
    #
    # Called on worker threads, for one lane by one worker at a time; exceptions from outside are masked except in user code.
    class UnitRunner
      EVENTS = {
        consume: %w[consumer.consume consumer.consumed], eofed: %w[consumer.eof consumer.eofed],
        tick: %w[consumer.tick consumer.ticked], revoked: %w[consumer.revoke consumer.revoked],
        shutdown: %w[consumer.shutting_down consumer.shutdown]
      }.freeze
      AROUND = %w[worker.process worker.processed worker.completed].freeze
      CALL_EVENTS = [*AROUND, *EVENTS.fetch(:consume)].freeze
      # Object: a kill isn't an exception. By identity and frozen: newer Rubies take such a Hash as it is, instead of a copy.
      IN_USER_CODE = {Object => :immediate}.compare_by_identity.freeze
      # How long a worker continues with a unit of several calls.
      STRETCH_US = 2_000
      FROM_OUTSIDE = [Interrupted, TimeLimitExceeded].freeze
      private_constant :EVENTS, :AROUND, :CALL_EVENTS, :IN_USER_CODE, :STRETCH_US, :FROM_OUTSIDE

      # @param monitor [Instrumentation::Monitor]
      # @param middleware [#call] wraps the call of user code: `call(consumer, action) { }`
      # @param clock [Clock]
      # @param critical [Array<Class>] errors that stop the process: reported as such
      # @param queue [#snapshot, nil] passed to listeners of worker events
      # @param failure_handler [FailureHandler, nil] asks user code about failures
      def initialize(monitor:, middleware:, clock:, critical: [], queue: nil, failure_handler: nil)
        @failure_handler = failure_handler
        @monitor = monitor
        @queue = queue
        @critical = [CriticalError, *critical]
        @middleware = middleware
        @wrapper = middleware.wrapper
        @clock = clock
        @unheard = @heard = nil
      end

      # @param slot [#pool] the lane's consumers
      # @param unit [Processing::Unit]
      # @return [Processing::Outcome]
      def call(slot, unit)
        return prepared(unit) if unit.prepare?
        return expired(unit) if unit.expired
        return quarantined(unit) if unit.crashes
        return run_on_all(slot, unit) unless unit.consume?
        context = slot.pool.take(unit)
        unit.add_holder(context)
        begin
          started = @clock.monotonic_us
          ended = run_call(context, unit, started)
          ended = run_next_call(context, unit, started) while next_call?(context, unit, ended)
          through = true
          ended
        ensure
          thread_ended(context) unless through # user code ended the thread
          slot.pool.give_back(context)
        end
      end

      # A unit failed in another process: strategies and the like are called here, without its consumer.
      # @param unit [Processing::Unit]
      # @param error [Exception]
      # @param blamed [Integer]
      # @return [Processing::Failure::CallbackResults, nil]
      def callback_results(unit, error, blamed)
        return unless @failure_handler && unit.consume?
        lane = unit.lane
        handle_failure(nil, unit, error, blamed, Consumer::ErrorsTracker.new(lane.topic_name, lane.partition) << error)
      end

      # @param unit [Processing::Unit] that failed
      # @param error [Exception]
      # @param blamed [Integer, nil]
      # @return [Hash{Symbol => Object}] where it failed, and what will follow, for `error.occurred`
      def forecast(unit, error, blamed)
        return {} unless unit.consume?
        Processing::Failure::Forecast.place(unit, blamed).merge(@failure_handler&.forecast(unit, error, blamed) || {})
      end

      # User code ended its thread (`Thread.exit`), or the runner has a defect: the unit counts as failed.
      # @param unit [Processing::Unit]
      # @return [Processing::Outcome]
      def broken(unit)
        lane = unit.lane
        error = InternalError.new("the worker thread ended while it ran #{lane.topic_name}/#{lane.partition}")
        report(nil, "worker.process.error", error, unit)
        blamed = unit.messages.blamed_offset
        Processing::Outcome.new(unit: unit, error: error, blamed: blamed, finished: false, time_ms: 0,
          callback_results: callback_results(unit, error, blamed))
      end

      private

      # Called when user code ended the thread: the call counts as failed, and its request for the partition is dropped.
      def thread_ended(context)
        context.failed
        context.take_flow
      end

      # @return [Boolean] whether the next call of `consume` may begin without going through the loop
      def next_call?(context, unit, ended)
        stretch = unit.stretch
        return false if stretch.nil? || stretch.finished? || !ended.allows_next_call? || ended.time_us >= STRETCH_US
        !context.transacted? && !marks_of(context, unit).leaving?
      end

      # Returns the marks of the incarnation to which the unit's records belong.
      def marks_of(context, unit) = unit.messages.batch.context&.marks || context.marks

      # The unit advances to its next records before the finished ones are marked: if the thread is ended in between, no marked
      # record is blamed or run again.
      def run_next_call(context, unit, started)
        marks, through = marks_of(context, unit), unit.messages.last_offset
        unit.begin_next_call
        marks.mark(through)
        run_call(context, unit, started)
      end

      def run_call(context, unit, started = @clock.monotonic_us)
        unit.messages.processing!(@clock.wall_ms)
        unit.number_fresh_records
        context.consumer = nil if unit.consume? && !unit.lane.topic.consumer_persistence
        context.begin_unit(unit)
        error = (no_listeners? && unit.consume?) ? run_wrapped(context, unit) : run_with_events(context, unit)
        outcome(context, unit, error, started)
      end

      # Hooks, `eofed` and `tick` concern every instance of the lane that was used; where there is none yet, one is created.
      def run_on_all(slot, unit)
        contexts = slot.pool.every
        outcomes = contexts.map { |context| run_call(context, unit) }
        chosen = outcomes.find(&:error) || outcomes.last
        flow = Consumer::Flow.combine(outcomes.map(&:flow))
        return chosen if chosen.flow.equal?(flow)
        contexts.each { |context| context.combined(flow) }
        chosen.dup.tap { |outcome| outcome.flow = flow }.freeze
      end

      # Builds the dead letter of a record that isn't run any more.
      def quarantined(unit)
        started = @clock.monotonic_ms
        error, results = run_callbacks(unit, :quarantine) { @failure_handler.quarantine(unit, unit.crashes) } ||
          @failure_handler.quarantine(unit, unit.crashes)
        Processing::Outcome.new(unit: unit, error: error, blamed: unit.messages.first_offset, callback_results: results,
          finished: false, time_ms: @clock.monotonic_ms - started).freeze
      end

      # Builds the letters of records that aren't run because they have expired.
      def expired(unit)
        started = @clock.monotonic_ms
        results = run_callbacks(unit, :expire) { @failure_handler.expire(unit) }
        Processing::Outcome.new(unit: unit, error: ExpiredError.new, blamed: unit.messages.first_offset,
          callback_results: results, finished: false, time_ms: @clock.monotonic_ms - started).freeze
      end

      # The user's filters and partitioner examine records, outside of any consumer.
      def prepared(unit)
        started = @clock.monotonic_ms
        results = error = nil
        begin
          wrap(unit, :prepare) do
            Thread.handle_interrupt(IN_USER_CODE) { results = unit.lane.prepare.call(unit.messages, started) }
          end
        rescue Exception => e # rubocop:disable Lint/RescueException -- the root of user code: the outcome contains it
          error = e
        end
        took = @clock.monotonic_ms - started
        Processing::Outcome.new(unit: unit, error: error, blamed: error && unit.messages.first_offset,
          callback_results: results&.extend_hold(took), finished: true, time_ms: took).freeze
      end

      # Runs before each call of `consume`, so it only compares: after a change the monitor's list of listeners is another object.
      # @return [Boolean] whether no listener subscribes to the events of a call of `consume`
      def no_listeners? = @unheard.equal?(@monitor.subscriptions) || look_for_no_listeners

      # Each of the two variables is true for its own list, whichever thread sets the other one.
      def look_for_no_listeners
        subscriptions = @monitor.subscriptions
        return false if @heard.equal?(subscriptions)
        return @unheard = subscriptions if CALL_EVENTS.none? { |name| @monitor.subscribed?(name) }
        @heard = subscriptions
        false
      end

      def run_with_events(context, unit)
        with_worker_events(unit) { run_wrapped(context, unit, *EVENTS.fetch(unit.action)) }
      end

      # `worker.completed` is emitted in every case, so that listeners can return what a thread borrowed.
      def with_worker_events(unit)
        return yield unless AROUND.any? { |name| @monitor.subscribed?(name) }
        @monitor.instrument("worker.process", {job: unit, jobs_queue: @queue})
        @monitor.instrument("worker.processed", {job: unit, jobs_queue: @queue}) { yield }
      ensure
        @monitor.instrument("worker.completed", {job: unit, jobs_queue: @queue}) if @monitor.subscribed?("worker.completed")
      end

      # The consumer is created when there is something to do for it, and lives as long as the lane.
      def build(context, unit)
        consumer = context.topic.consumer.new
        consumer.penstock_context = context
        context.consumer = consumer
        @failure_handler&.extend_consumer(consumer, context.topic)
        context.before_use { initialized(consumer, context.lane, unit) }
        consumer
      end

      def initialized(consumer, lane, unit)
        payload = {topic: lane.topic_name, partition: lane.partition, caller: consumer}
        @monitor.instrument("consumer.initialized", payload) { consumer.__send__(:initialized) }
      rescue StandardError, ScriptError => error
        report(consumer, "consumer.initialized.error", error, unit)
      end

      def wrap(unit, action, &) = @wrapper ? @wrapper.call(unit.lane.topic, action, &) : yield

      # Runs user code inside the application's wrapper. The code's error passes through the wrapper; it has been reported.
      # @return [Exception, nil]
      def run_wrapped(context, unit, before = nil, after = nil)
        return run(context, unit, before, after) unless @wrapper
        error = nil
        @wrapper.call(unit.lane.topic, unit.action) { (error = run(context, unit, before, after)) && raise(error) }
      rescue Exception => raised # rubocop:disable Lint/RescueException -- the root of user code: the outcome contains it
        unit.messages.blame(raised) if unit.consume? && !error
        report_call(context.consumer, unit, raised) unless error || raised.is_a?(Interrupted)
        raised
      end

      # Rescues exceptions of every class: settlement decides what they mean.
      # @param before [String, nil] event before the call, emitted where it has a listener
      # @param after [String, nil] event after the call
      def run(context, unit, before = nil, after = nil)
        consumer = context.consumer
        consumer = build(context, unit) if consumer.nil? || (!unit.consume? && context.topic.outdated?(consumer))
        @monitor.instrument(before, payload(consumer, unit)) if before && @monitor.subscribed?(before)
        done = called = false
        Thread.handle_interrupt(IN_USER_CODE) do
          @middleware.call(consumer, unit.action) do
            called = true
            perform(consumer, unit, after)
          end
          done = true
        end
        not_called(consumer, unit) unless called
      rescue Exception => error # rubocop:disable Lint/RescueException -- the root of user code: the outcome contains it
        return if done && FROM_OUTSIDE.any? { |klass| error.is_a?(klass) } # the error was raised after user code had ended
        unit.messages.blame(error) if unit.consume?
        report_call(consumer, unit, error) unless error.is_a?(Interrupted)
        error
      end

      def report_call(consumer, unit, error)
        report(consumer, type_of(error, unit), error, unit, **forecast(unit, error, unit.messages.blamed_offset))
      end

      # Without this error the records of a call of consume would count as consumed.
      def not_called(consumer, unit)
        raise UnsupportedCaseError, "a middleware, or wrap of #{consumer.class}, returned without yielding: #{unit.action} was " \
          "not called. #{unit.consume? ? "Filter records in the route instead, or pause" : "Yield for each action"}"
      end

      def type_of(error, unit)
        return "consumer.critical.error" if unit.consume? && @critical.any? { |klass| error.is_a?(klass) }
        "consumer.#{unit.action}.error"
      end

      def perform(consumer, unit, event)
        return user_code(consumer, unit) unless event && @monitor.subscribed?(event)
        payload = payload(consumer, unit)
        payload[:lag] = unit.lag if unit.consume?
        @monitor.instrument(event, payload) { user_code(consumer, unit) }
      end

      # Hooks may be private methods. An error is blamed here, because `wrap` runs on and may iterate the messages.
      def user_code(consumer, unit)
        generation = Native::Fork.generation
        consumer.__send__(unit.action)
      rescue Exception => error # rubocop:disable Lint/RescueException -- only remembered
        unit.messages.blame(error) if unit.consume?
        raise
      ensure
        end_child(consumer, unit) unless generation == Native::Fork.generation
      end

      # User code forked, and the child returned from it instead of ending: it would continue as a second worker, with a copy of
      # the queue and without a connection, and never end. Nothing of the application runs in it any more, no at_exit block
      # either.
      def end_child(consumer, unit)
        warn "penstock: the process #{::Process.pid} was forked in #{consumer.class}##{unit.action} of #{unit.lane.topic_name}/" \
          "#{unit.lane.partition} and returned from it. It is ended here, with code 1. End such a child where its work is " \
          "done: `fork { … }` does, or `exit!`."
      ensure
        exit!(1)
      end

      def payload(consumer, unit)
        lane = unit.lane
        place = {topic: lane.topic_name, partition: lane.partition, caller: consumer}
        return place unless unit.consume?
        messages = unit.messages
        place.merge!(first_offset: messages.first_offset, last_offset: messages.last_offset, messages_count: messages.size,
          attempt: unit.attempt)
      end

      def outcome(context, unit, error, started)
        blamed = error && unit.messages.blamed_offset
        results = finish_call(context, unit, error, blamed) if unit.consume?
        flow = context.take_flow
        took = @clock.monotonic_us - started
        Processing::Outcome.of(unit, error, blamed, flow, unit.messages.finished?, took / 1_000, results, took).freeze
      end

      def finish_call(context, unit, error, blamed)
        return context.succeeded unless error
        context.failed
        context.errors << error
        handle_failure(context.consumer, unit, error, blamed, context.errors) if @failure_handler
      end

      def handle_failure(consumer, unit, error, blamed, errors)
        run_callbacks(unit, :failure, consumer) { @failure_handler.call(consumer, unit, error, blamed, errors) }
      end

      # An error of the wrapper changes nothing about what the code inside it has decided. Without an answer the record is tried
      # again.
      def run_callbacks(unit, action, consumer = nil)
        answer = nil
        wrap(unit, action) { answer = yield }
        answer
      rescue Exception => raised # rubocop:disable Lint/RescueException -- the outcome must be handed back
        report(consumer, "consumer.error_callback.error", raised, unit)
        answer
      end

      def report(consumer, type, error, unit, **more)
        return unless @monitor.subscribed?("error.occurred")
        lane = unit.lane
        @monitor.instrument("error.occurred", {caller: consumer, type: type, error: error, topic: lane.topic_name,
          partition: lane.partition, seek_offset: RetryOffset.of(unit), **more})
      end
    end
  end
end
