# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Producer
    # Messages collected now and sent later, together. Nothing is checked before the flush.
    module Buffering
      # @param message [Hash]
      # @return [Array<Hash>] the buffer
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def buffer(message)
        ensure_active
        @buffer.add([message])
        instrument("message.buffered", message: message, buffer: messages) if monitor.subscribed?("message.buffered")
        messages
      end

      # @param messages [Array<Hash>]
      # @return [Array<Hash>] the messages given
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def buffer_many(messages)
        ensure_active
        @buffer.add(messages)
        if monitor.subscribed?("messages.buffered")
          instrument("messages.buffered", messages: messages, buffer: self.messages)
        end
        messages
      end

      # @return [Array<Hash>] a copy of the buffer
      def messages
        @buffer.to_a
      end

      # Sends the buffer and waits for every report. Connects to nothing when it is empty.
      #
      # @return [Array<Delivery::Handle>] resolved; empty when there was nothing
      # @raise [MessageInvalidError] nothing was sent, everything is back in the buffer
      # @raise [ProduceManyError] what the client didn't accept is back in the buffer, at its front
      def flush_sync
        flush_buffer("buffer.flushed_sync", sync: true)
      end

      # Hands the buffer to the client.
      #
      # @return [Array<Delivery::Handle>] empty when there was nothing
      # @raise [MessageInvalidError] nothing was sent, everything is back in the buffer
      # @raise [ProduceManyError] what the client didn't accept is back in the buffer, at its front
      def flush_async
        flush_buffer("buffer.flushed_async", sync: false)
      end

      private

      def ensure_active
        connect unless status.active? || usable?
      end

      def flush_buffer(event, sync:)
        ensure_active
        taken = @buffer.take
        return [] if taken.empty?

        batch = step_through_taken(taken)
        instrument(event, messages: batch) { flush_batch(batch, sync) }
      end

      # Those before a message that middleware chokes on aren't shown to it again.
      def step_through_taken(taken)
        done = taken.ready.dup
        taken.fresh.each { |message| done << step_through(message) }
        done
      rescue
        @buffer.put_back(done, taken.fresh.drop(done.size - taken.ready.size))
        raise
      end

      # What never reached the client comes back; so does all of it when that isn't known.
      def flush_batch(batch, sync)
        rest = batch
        produce_many_prepared(batch, run: false, sync: sync).tap { rest = [] }
      rescue ProduceManyError => error
        rest = batch.drop(error.dispatched.size) # of one in a transaction of its own nothing was dispatched
        raise
      ensure
        @buffer.put_back(rest) unless rest.empty?
      end
    end
  end
end
