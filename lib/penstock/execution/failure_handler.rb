# frozen_string_literal: true

require "securerandom"
require_relative "../errors"
require_relative "../on_demand"
require_relative "../processing/failure/callback_results"
require_relative "../processing/failure/forecast"
require_relative "../processing/failure/policy"
require_relative "dispatch_to_dlq"
require_relative "letter_writer"
require_relative "retry_offset"
Penstock.load_constant :ExpiredError

module Penstock
  module Execution
    # Runs the user code that decides about a failed record: the strategy, a block for the back-off, `enhance_dlq_message`; and
    # prepares the letter where the record may be dead-lettered or retried. Called at the end of execution, on the worker. The
    # poll loop only decides.
    #
    # Called by workers; keeps no state except the topics' policies.
    class FailureHandler
      # @param monitor [Instrumentation::Monitor]
      # @param clock [Clock]
      # @param producer [#call] returns the application's producer
      # @param critical [Array<Class>] errors that stop the process: no user code is asked about them
      def initialize(monitor:, clock:, producer:, critical: [])
        @monitor = monitor
        @clock = clock
        @writer = LetterWriter.new(clock, producer, method(:guarded))
        @critical = [CriticalError, *critical].freeze
        @silent = [Interrupted, *@critical].freeze
        @policies = {}.compare_by_identity
      end

      # @param consumer [BaseConsumer]
      # @param unit [Processing::Unit] that failed
      # @param error [Exception]
      # @param blamed [Integer] offset of the record
      # @param errors [Consumer::ErrorsTracker] this error included
      # @return [Processing::Failure::CallbackResults, nil] nil when no user code applies
      def call(consumer, unit, error, blamed, errors)
        policy = policy_of(unit.lane.topic)
        return unless policy.removes_records? || policy.backoffs.blocks?
        return if blamed.nil? || @silent.any? { |klass| error.is_a?(klass) }

        offset = counted(policy, unit, blamed)
        run_callbacks(Case.new(policy, consumer, unit, error, offset, attempt_of(unit, offset), errors))
      end

      # Computes what will follow, without asking user code.
      # @param unit [Processing::Unit] that failed
      # @param error [Exception]
      # @param blamed [Integer, nil] offset of the record
      # @return [Hash{Symbol => Object}] see {Processing::Failure::Forecast.of}
      def forecast(unit, error, blamed)
        policy = policy_of(unit.lane.topic)
        offset = counted(policy, unit, blamed)
        Processing::Failure::Forecast.of(unit, error, policy: policy, attempt: attempt_of(unit, offset), critical: @critical,
          unreadable: policy.unreadable?(error, offset))
      end

      # Prepares the dead letter of a record that must not run, from its bytes, without user code except the producer's
      # middleware.
      # @param unit [Processing::Unit] of that record
      # @param crashes [Integer]
      # @return [Array(QuarantinedError, Processing::Failure::CallbackResults)] what its outcome carries
      def quarantine(unit, crashes)
        error = QuarantinedError.new(crashes: crashes)
        offset = unit.messages.first_offset
        failed = Case.new(policy_of(unit.lane.topic), nil, unit, error, offset, unit.attempt, nil)
        destination = failed.policy.without_retries
        letter = @writer.call(failed, destination) unless destination == :skip
        [error, Processing::Failure::CallbackResults.new(offset: offset, letter: letter).freeze]
      end

      # Prepares the letters of expired records, without user code except the producer's middleware. If one can't be built,
      # those after it aren't built either.
      # @param unit [Processing::Unit] of these records
      # @return [Processing::Failure::CallbackResults]
      def expire(unit)
        policy, error = policy_of(unit.lane.topic), ExpiredError.new
        letters = []
        unit.messages.offsets.each do |offset|
          failed = Case.new(policy, nil, unit, error, offset, attempt_of(unit, offset) - 1, nil)
          letter = @writer.call(failed, policy.expired_destination) or break
          letters << letter
        end
        Processing::Failure::CallbackResults.new(offset: unit.messages.first_offset, letters: letters).freeze
      end

      # Extends a new consumer with the methods its route provides.
      # @param consumer [BaseConsumer]
      # @param topic [Routing::Topic]
      def extend_consumer(consumer, topic)
        dependencies = DispatchToDlq::Dependencies.new(topic.features[:dead_letter_queue], @monitor, @clock)
        DispatchToDlq.extend_consumer(consumer, dependencies)
      end

      # The facts about one failure.
      Case = Struct.new(:policy, :consumer, :unit, :error, :offset, :attempt, :errors) do
        # The original record, even if user code changed the message before it failed.
        def record = @record ||= unit.messages.from_offset(offset).slice(0, 1).first.afresh
        def lane = unit.lane

        def trace_id
          errors ? errors.trace_id : SecureRandom.uuid
        end

        def reason = REASONS.fetch(error.class, "failed")
      end
      REASONS = {QuarantinedError => "quarantined", ExpiredError => Processing::Failure::Provenance::EXPIRED}.freeze
      private_constant :Case, :REASONS

      private

      def policy_of(topic) = @policies[topic] ||= Processing::Failure::Policy.new(topic)

      # @return [Integer, nil] offset of the record for which the poll loop will count the failure
      def counted(policy, unit, blamed) = (RetryOffset.within(unit) unless policy.isolate?) || blamed

      # A record that isn't the first of its unit has not failed before, because retries run alone.
      def attempt_of(unit, offset) = (unit.messages.first_offset == offset) ? unit.attempt : 1

      def run_callbacks(failed)
        answer = guarded(failed) { answer_of(failed) }
        backoff_ms = guarded(failed) { failed.policy.backoffs.call_block(failed.error, failed.attempt) }
        unreadable = failed.policy.unreadable?(failed.error, failed.offset)
        destination = failed.policy.after(failed.attempt, answer, unreadable: unreadable)
        letter = @writer.call(failed, destination) unless destination.is_a?(Symbol)
        Processing::Failure::CallbackResults.new(offset: failed.offset, answer: answer, backoff_ms: backoff_ms,
          letter: letter, unreadable: unreadable).freeze
      end

      # An error that the user's code raises here is reported and changes nothing: the record is tried again.
      def guarded(failed)
        Thread.handle_interrupt(Object => :immediate) { yield }
      rescue Exception => error # rubocop:disable Lint/RescueException -- user code on a worker: the outcome must be handed back
        report(failed, error)
      end

      def report(failed, error)
        @monitor.instrument("error.occurred", {type: "consumer.error_callback.error", error: error, caller: failed.consumer,
          topic: failed.lane.topic_name, partition: failed.lane.partition, offset: failed.offset, attempt: failed.attempt})
        nil
      end

      def answer_of(failed)
        strategy = failed.policy.strategy or return
        answer = strategy.call(failed.errors, failed.attempt)
        action, topic = answer
        return [action, topic&.to_s] if known?(action, topic) && (action != :dispatch || topic || failed.policy.dead_letter_topic)

        raise UnsupportedCaseError, "the strategy answered #{answer.inspect[0, 80]}: it may answer :retry, :skip, " \
          "[:dispatch, topic], or :dispatch where dead_letter_queue names a topic"
      end

      def known?(action, topic)
        %i[retry dispatch skip].include?(action) && (topic.nil? || topic.is_a?(String) || topic.is_a?(Symbol))
      end
    end
  end
end
