# frozen_string_literal: true

require_relative "../errors"
require_relative "courier"

module Penstock
  class Producer
    # Producing in two steps, for a thread that must never wait: {#ready} does all that may take time, on any thread; {#dispatch}
    # only hands over, and the handle it answers is looked at now and then.
    module Dispatching
      # Runs middleware, checks the message, asks for partitions where a `partition_key` needs them, connects. May wait.
      #
      # @param message [Hash] see {Producer}
      # @return [Hash] what {#dispatch} takes
      # @raise [MessageInvalidError] it can't be sent
      # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
      def ready(message)
        message = step_through(message).except(:handle, :label)
        with_client do |sending|
          checked(message, sending).tap { |prepared| @client.open_topic(prepared[:topic].to_s) }
        end
      end

      # Hands a message over. Waits for nothing but a new client where the last one was replaced, runs nobody's code, tells no
      # listener. With a transactional producer a thread of
      # its own sends it in a transaction of its own: one that is open is somebody else's and may be aborted.
      #
      # @param message [Hash] as {#ready} answered it
      # @param around [#call, nil] yields in a transaction, which the message then belongs to: called by that thread
      # @return [Delivery::Handle, Courier::Handle, nil] nil when the queue is full; every handle is resolved in the end, when
      #   the producer is closed at the latest
      # @raise [KafkaError] the client refused it
      # @raise [ProducerClosedError] the producer is closed, or was never connected
      def dispatch(message, around: nil)
        return hand_over(message, around) if @transactions

        raise ProducerClosedError, "the producer #{id} is #{status}" unless @client && status.active?

        connect until (sending = @sending)
        sending.try(message)
      rescue KafkaError => error
        replace_client_aside(sending, error) if error.code == :fatal
        raise
      rescue HandleClosedError => error
        raise if error.is_a?(ProducerClosedError)

        raise ProducerClosedError, "the producer #{id} is closed", cause: error
      end

      private

      # The message will be offered again, to another client by then.
      def replace_client_aside(sending, error)
        return unless revivable? && sending

        Thread.new { sending.replace_client(error) }.name = "penstock reload"
      end

      def hand_over(message, around)
        raise ProducerClosedError, "the producer #{id} is #{status}" unless status.active?

        @courier.take(message, around)
      end
    end
  end
end
