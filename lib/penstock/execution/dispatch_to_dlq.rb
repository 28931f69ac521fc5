# frozen_string_literal: true

require "securerandom"
require_relative "../errors"
require_relative "../processing/failure/message"
require_relative "../processing/failure/oversized"

module Penstock
  module Execution
    # Adds {#dispatch_to_dlq} to consumers whose routes have a dead letter queue. Extends the instance, so that
    # `respond_to?(:dispatch_to_dlq)` shows whether there is one. Runs on the worker.
    module DispatchToDlq
      # Internal: what is needed to build and report a letter.
      Dependencies = Struct.new(:queue, :monitor, :clock)

      # @param consumer [BaseConsumer]
      # @param dependencies [Dependencies]
      # @return [void]
      def self.extend_consumer(consumer, dependencies)
        return unless dependencies.queue&.active?

        consumer.extend(self)
        consumer.instance_variable_set(:@penstock_dlq, dependencies)
      end

      # Sends a message to the dead letter queue although it hasn't failed. This neither marks nor completes it. If
      # `enhance_dlq_message` raises, the error is reported and the letter is sent without its changes.
      #
      # @param message [Message] of this consumer
      # @param reason [Exception, nil] why
      # @return [Producer::Delivery::Report, Producer::Delivery::Handle] a handle with `dispatch_method: :produce_async`
      # @raise [ArgumentError] the object isn't a message
      # @raise [ProduceError] it could not be delivered
      # @raise [ConfigurationError] the route specifies no topic for it
      # @raise [MessageInvalidError] `enhance_dlq_message` has addressed it to the message's own topic
      def dispatch_to_dlq(message, reason: nil)
        raise ArgumentError, "dispatch_to_dlq takes one message, such as messages.last, not #{message.inspect[0, 80]}" unless
          message.respond_to?(:raw_headers)

        dlq = @penstock_dlq
        letter = penstock_letter(message, dlq, reason || RuntimeError.new("dispatched by #{self.class}"))
        sent, letter = penstock_send(letter, message, dlq)
        omitted = {omitted: letter.dig(:headers, Processing::Failure::Provenance::OMITTED)}.compact
        dlq.monitor.instrument("dead_letter_queue.dispatched", {topic: message.topic, partition: message.partition,
          offset: message.offset, attempt: attempt, message: message, to: letter[:topic], error: reason, caller: self, **omitted})
        sent
      end

      private

      # Sends the letter, with less content each time it is refused for its size, where the route allows that.
      # @return [Array] the producer's answer; the letter that was sent
      def penstock_send(letter, message, dlq)
        [producer.public_send(dlq.queue.dispatch_method, letter), letter]
      rescue ProduceError, MessageTooLargeError => error
        too_large = dlq.queue.reference? && Processing::Failure::Oversized.refused?(error)
        letter = (Processing::Failure::Oversized.reduced(letter, message) if too_large) or raise
        dlq.monitor.instrument("error.occurred", {type: "dead_letter_queue.oversized.error", error: error, topic: message.topic,
          partition: message.partition, offset: message.offset, attempt: attempt, message: message, to: letter[:topic],
          omitted: letter[:headers][Processing::Failure::Provenance::OMITTED], caller: self})
        retry
      end

      def penstock_letter(message, dlq, error)
        topic = dlq.queue.topic_name or raise ConfigurationError,
          "dispatch_to_dlq has no topic to send to: set one in dead_letter_queue of #{message.topic}"
        facts = {topic: topic, group: self.topic.consumer_group_id, error: error, attempt: attempt, trace_id: SecureRandom.uuid,
                 now_ms: dlq.clock.wall_ms, reason: "dispatched"}
        letter = Processing::Failure::Message.dead_letter(message, **facts)
        return letter unless respond_to?(:enhance_dlq_message, true)

        changed = penstock_enhanced(letter, message, dlq) or return letter
        Processing::Failure::Message.check_target(changed, message)
        changed
      end

      # Same as for letters that Penstock sends, except that an interrupt, which isn't a StandardError, reaches the caller: it is
      # user code that has to end.
      # @return [Hash, nil] the letter with the user's changes; nil: they failed halfway
      def penstock_enhanced(letter, message, dlq)
        changed = letter.merge(headers: letter[:headers].dup)
        enhance_dlq_message(changed, message)
        changed
      rescue StandardError, ScriptError => error
        dlq.monitor.instrument("error.occurred", {type: "consumer.error_callback.error", error: error, caller: self,
          topic: message.topic, partition: message.partition, offset: message.offset, attempt: attempt})
        nil
      end
    end
  end
end
