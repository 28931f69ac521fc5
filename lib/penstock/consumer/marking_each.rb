# frozen_string_literal: true

module Penstock
  class Consumer
    # Implements `each` under `adaptive_iterator`: marks every message after the user's block has returned, and clears its
    # payload. Ends when the partition is being revoked, or a mark doesn't count; the next owner gets the messages that weren't
    # marked.
    #
    # Created for one call, used by the worker that runs the unit.
    class MarkingEach
      # @param consumer [BaseConsumer]
      # @param iterator [Routing::AdaptiveIterator]
      # @param context [Context] the consumer's
      def initialize(consumer, iterator, context)
        @consumer = consumer
        @iterator = iterator
        @context = context
      end

      # @yieldparam message [Message]
      # @return [Messages]
      def call(messages)
        messages.each do |message|
          break leave if @consumer.revoked?
          yield message
          break leave unless @consumer.public_send(@iterator.marking_method, message)
          message.clean! if @iterator.clean_after_yielding?
        end
        messages
      end

      private

      # A seek to the first message that wasn't yielded would drop marks that the consumer makes afterwards.
      def leave = @context.complete_marked_only
    end
  end
end
