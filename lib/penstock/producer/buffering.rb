# frozen_string_literal: true

module Penstock
  class Producer
    # Methods that collect messages and send them later, together. Messages are checked when they are flushed.
    module Buffering
      # @param message [Hash]
      # @return [Array<Hash>] the buffer
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def buffer(message)
        pipeline.buffer([message], "message.buffered", message: message)
        messages
      end

      # @param messages [Array<Hash>]
      # @return [Array<Hash>] the messages given
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def buffer_many(messages)
        pipeline.buffer(messages, "messages.buffered", messages: messages)
        messages
      end

      # Sends the buffer and waits for every report. Opens no connection when the buffer is empty.
      #
      # @return [Array<Delivery::Handle>] resolved; empty when there was nothing
      # @raise [MessageInvalidError] nothing was sent, everything is back in the buffer
      # @raise [ProduceManyError] what the client didn't accept is back in the buffer, at its front
      def flush_sync
        pipeline.flush_buffer("buffer.flushed_sync", sync: true)
      end

      # Passes the buffer to the client.
      #
      # @return [Array<Delivery::Handle>] empty when there was nothing
      # @raise [MessageInvalidError] nothing was sent, everything is back in the buffer
      # @raise [ProduceManyError] what the client didn't accept is back in the buffer, at its front
      def flush_async
        pipeline.flush_buffer("buffer.flushed_async", sync: false)
      end
    end
  end
end
