# frozen_string_literal: true

require_relative "../errors"
require_relative "../processing/failure/callback_results"
require_relative "../processing/failure/message"
require_relative "../processing/failure/oversized"

module Penstock
  module Execution
    # Builds the message to be sent for a failed record, ready for the producer: user code changes it, the producer's middleware
    # processes it, its partition is chosen. Everything that may take time happens here, on the worker; the poll loop only
    # sends. Letters that user code sends itself are built in {DispatchToDlq}.
    #
    # Called by workers; stateless.
    class LetterWriter
      # @param clock [Clock]
      # @param producer [#call] returns the application's producer
      # @param guard [#call] runs the block; an error it raises is reported, and the result is nil
      def initialize(clock, producer, guard)
        @clock = clock
        @producer = producer
        @guard = guard
      end

      # @param failed [#policy, #record, …] the facts about the failure
      # @param destination [Processing::Failure::Policy::Destination]
      # @return [Processing::Failure::Letter, nil] nil when it can't be built or sent; that was reported then
      def call(failed, destination)
        producer = guarded(failed) { producer_of(failed) } or return
        dispatch, refusal = build(failed, destination, producer)
        return unless dispatch
        return letter(failed, producer, destination.kind, dispatch, refusal: refusal) unless destination.kind == :retry

        instead = dead_letter_instead(failed, producer)
        return letter(failed, producer, :retry, dispatch, instead: instead) unless refusal

        letter(failed, producer, :dead_letter, instead, refusal: refusal) if instead
      end

      private

      def guarded(failed, &) = @guard.call(failed, &)

      # The consumer's own producer, if it has one.
      def producer_of(failed)
        producer = failed.consumer ? failed.consumer.producer : @producer.call
        return producer unless producer.respond_to?(:closed?) && producer.closed?

        raise ProducerClosedError, "the producer #{producer.id}, which sends dead letters of #{failed.lane.topic_name}, is " \
          "closed. Do not close this producer while consumers still use it. The record is retried until the " \
          "consumers have another one (`self.producer = …`) or this process is restarted"
      end

      def letter(failed, producer, kind, dispatch, **more)
        Processing::Failure::Letter.new(record: failed.record, dispatch: dispatch, producer: producer, kind: kind,
          error: failed.error, attempt: failed.attempt, caller: failed.consumer, reference: failed.policy.reference?,
          **more).freeze
      end

      # A record too large for its retry topic is dead-lettered.
      def dead_letter_instead(failed, producer)
        build(failed, failed.policy.without_retries, producer)&.first if failed.policy.reference?
      end

      # If the user's changes make a message impossible to send, it is sent without them.
      # @return [Array(Hash, MessageTooLargeError), nil] the message, and the error if a part of it was omitted because of its
      #   size
      def build(failed, destination, producer)
        plain = guarded(failed) { message(failed, destination) } or return

        enhanced(failed, destination, plain) { |changed| ready(failed, producer, changed) } ||
          guarded(failed) { ready(failed, producer, plain) }
      end

      def message(failed, destination)
        facts = {topic: destination.topic, group: failed.lane.topic.consumer_group_id, error: failed.error,
                 attempt: failed.attempt, trace_id: failed.trace_id, now_ms: @clock.wall_ms}
        return Processing::Failure::Message.dead_letter(failed.record, **facts, reason: failed.reason) unless
          destination.kind == :retry

        Processing::Failure::Message.retry(failed.record, **facts, delay_ms: destination.delay_ms)
      end

      def enhanced(failed, destination, plain)
        return unless destination.kind == :dead_letter && failed.consumer.respond_to?(:enhance_dlq_message, true)

        guarded(failed) do
          changed = plain.merge(headers: plain[:headers].dup)
          failed.consumer.__send__(:enhance_dlq_message, changed, failed.record)
          Processing::Failure::Message.check_target(changed, failed.record)
          yield changed
        end
      end

      def ready(failed, producer, message)
        [producer.ready(message), nil]
      rescue MessageTooLargeError => error
        raise unless failed.policy.reference?

        [producer.ready(Processing::Failure::Oversized.reduced(message, failed.record)), error]
      end
    end
  end
end
