# frozen_string_literal: true

module Penstock
  class Consumer
    # Implements `each` under `adaptive_iterator`: marks every message after the user's block has returned, and clears its
    # payload. Ends when the partition is being revoked; the next owner gets the messages that weren't yielded.
    #
    # Created for one call, used by the worker that runs the unit.
    class MarkingEach
      # @param consumer [BaseConsumer]
      # @param iterator [Routing::AdaptiveIterator]
      def initialize(consumer, iterator)
        @consumer = consumer
        @iterator = iterator
      end

      # @yieldparam message [Message]
      # @return [Messages]
      def call(messages)
        messages.each do |message|
          break leave(message) if @consumer.revoked?
          yield message
          break unless @consumer.public_send(@iterator.marking_method, message)
          message.clean! if @iterator.clean_after_yielding?
        end
        messages
      end

      private

      # After a seek only what was marked is complete.
      def leave(message) = @consumer.seek(message.offset)
    end
  end
end
