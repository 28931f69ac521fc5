# frozen_string_literal: true

require "securerandom"
require_relative "../errors"
require_relative "../processing/failure/message"
require_relative "../processing/failure/oversized"

module Penstock
  module Execution
    # What a consumer can do besides where its route has a dead letter queue. Put on the instance, so that
    # `respond_to?(:dispatch_to_dlq)` tells whether there is one. Runs on the worker.
    module DeadLettering
      # How the letter is made and told; not the user's.
      Kit = Struct.new(:queue, :monitor, :clock)

      # @param consumer [BaseConsumer]
      # @param kit [Kit]
      # @return [void]
      def self.equip(consumer, kit)
        return unless kit.queue&.active?

        consumer.extend(self)
        consumer.instance_variable_set(:@penstock_letters, kit)
      end

      # Puts a message into the dead letters without having failed. It is neither marked nor complete by that.
      #
      # @param message [Message] of this consumer
      # @param reason [Exception, nil] why
      # @return [Producer::Delivery::Report, Producer::Delivery::Handle] a handle with `dispatch_method: :produce_async`
      # @raise [ProduceError] it could not be delivered
      # @raise [ConfigurationError] the route names no topic for it
      def dispatch_to_dlq(message, reason: nil)
        kit = @penstock_letters
        letter = penstock_letter(message, kit, reason || RuntimeError.new("dispatched by #{self.class}"))
        sent, letter = penstock_send(letter, message, kit)
        omitted = {omitted: letter.dig(:headers, Processing::Failure::Provenance::OMITTED)}.compact
        kit.monitor.instrument("dead_letter_queue.dispatched", {topic: message.topic, partition: message.partition,
          offset: message.offset, attempt: attempt, message: message, to: letter[:topic], error: reason, caller: self, **omitted})
        sent
      end

      private

      # With less each time it is refused for its size, where the route says so.
      # @return [Array] what the producer answers; what it was given
      def penstock_send(letter, message, kit)
        [producer.public_send(kit.queue.dispatch_method, letter), letter]
      rescue ProduceError, MessageTooLargeError => error
        too_large = kit.queue.reference? && Processing::Failure::Oversized.refused?(error)
        letter = (Processing::Failure::Oversized.reduced(letter, message) if too_large) or raise
        kit.monitor.instrument("error.occurred", {type: "dead_letter_queue.oversized.error", error: error, topic: message.topic,
          partition: message.partition, offset: message.offset, attempt: attempt, message: message, to: letter[:topic],
          omitted: letter[:headers][Processing::Failure::Provenance::OMITTED], caller: self})
        retry
      end

      def penstock_letter(message, kit, error)
        topic = kit.queue.topic_name or raise ConfigurationError,
          "dead_letter_queue of #{message.topic} names no topic, so dispatch_to_dlq doesn't know where to"
        facts = {topic: topic, group: self.topic.consumer_group_id, error: error, attempt: attempt, trace_id: SecureRandom.uuid,
                 now_ms: kit.clock.wall_ms, reason: "dispatched"}
        letter = Processing::Failure::Message.dead_letter(message, **facts)
        enhance_dlq_message(letter, message) if respond_to?(:enhance_dlq_message, true)
        letter
      end
    end
  end
end
