# frozen_string_literal: true

require_relative "../errors"
require_relative "../processing/failure/advice"
require_relative "../processing/failure/message"
require_relative "../processing/failure/oversized"

module Penstock
  module Execution
    # Makes the message that is sent for a failed record, ready to be handed over: user code changes it, the producer's middleware
    # looks at it, its partition is found. All that may take time happens here, on the worker; the poll loop only sends.
    #
    # Called by workers; keeps nothing.
    class LetterWriter
      # @param clock [Clock]
      # @param producer [#call] gives the application's producer
      # @param guard [#call] runs the block; what it raises is told, and answered with nil
      def initialize(clock, producer, guard)
        @clock = clock
        @producer = producer
        @guard = guard
      end

      # @param failed [#policy, #record, …] all that is known about the failure
      # @param destination [Processing::Failure::Policy::Destination]
      # @return [Processing::Failure::Letter, nil] nil: it can't be sent, which was told
      def call(failed, destination)
        producer = guarded(failed) { producer_of(failed) } or return
        dispatch, refusal = written(failed, destination, producer)
        return unless dispatch
        return letter(failed, producer, :dead_letter, dispatch, refusal: refusal) if destination.kind == :dead_letter

        instead = last_resort(failed, producer)
        return letter(failed, producer, :retry, dispatch, instead: instead) unless refusal

        letter(failed, producer, :dead_letter, instead, refusal: refusal) if instead
      end

      private

      def guarded(failed, &) = @guard.call(failed, &)

      # A consumer's own, if it has one.
      def producer_of(failed)
        producer = failed.consumer ? failed.consumer.producer : @producer.call
        return producer unless producer.respond_to?(:closed?) && producer.closed?

        raise ProducerClosedError, "the producer #{producer.id}, with which dead letters of #{failed.lane.topic_name} are " \
          "sent, is closed. Whoever closed it must not as long as consumers use it; until they have another " \
          "(`self.producer = …`), or this process is started anew, the record is run again"
      end

      def letter(failed, producer, kind, dispatch, **more)
        Processing::Failure::Letter.new(record: failed.record, dispatch: dispatch, producer: producer, kind: kind,
          error: failed.error, attempt: failed.attempt, caller: failed.consumer, reference: failed.policy.reference?,
          **more).freeze
      end

      # What is too large to wait in a retry topic is dead.
      def last_resort(failed, producer)
        written(failed, failed.policy.without_retries, producer)&.first if failed.policy.reference?
      end

      # A message that the user's changes made impossible to send goes as it would have gone without them.
      # @return [Array(Hash, MessageTooLargeError), nil] the message; why something was left out
      def written(failed, destination, producer)
        plain = guarded(failed) { message(failed, destination) } or return

        enhanced(failed, destination, plain) { |changed| ready(failed, producer, changed) } ||
          guarded(failed) { ready(failed, producer, plain) }
      end

      def message(failed, destination)
        facts = {topic: destination.topic, group: failed.lane.topic.consumer_group_id, error: failed.error,
                 attempt: failed.attempt, trace_id: failed.trace_id, now_ms: @clock.wall_ms}
        return Processing::Failure::Message.dead_letter(failed.record, **facts, reason: failed.reason) if
          destination.kind == :dead_letter

        Processing::Failure::Message.retry(failed.record, **facts, delay_ms: destination.delay_ms)
      end

      def enhanced(failed, destination, plain)
        return unless destination.kind == :dead_letter && failed.consumer.respond_to?(:enhance_dlq_message, true)

        guarded(failed) do
          changed = plain.merge(headers: plain[:headers].dup)
          failed.consumer.__send__(:enhance_dlq_message, changed, failed.record)
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
