# frozen_string_literal: true

module Penstock
  class Consumer
    # `each` under `adaptive_iterator`: every message is marked behind the user's block and forgotten. It ends when the partition
    # is being taken away; what it hasn't handed out then is the next owner's.
    #
    # Made for one call, used by the worker that runs the unit.
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

      # A unit that sought completes nothing but what it marked.
      def leave(message) = @consumer.seek(message.offset)
    end
  end
end
