# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  class Producer
    # Takes messages from an API call to the client: wrappers, middleware, checks, dispatch, waiting for the reports, and the
    # events of each of these. Outside of a transaction, a message of a transactional producer gets a transaction of its own.
    #
    # Created at the producer's setup. Any thread may use it; stateless.
    class Pipeline
      # @param connection [Connection]
      # @param middleware [Middleware]
      # @param builder [MessageBuilder]
      # @param variants [VariantScope]
      # @param buffer [Buffer]
      # @param transactions [Transactions, nil]
      def initialize(connection, middleware:, builder:, variants:, buffer:, transactions:)
        @connection = connection
        @middleware = middleware
        @wraps = middleware.respond_to?(:wrapper)
        @builder = builder
        @variants = variants
        @buffer = buffer
        @transactions = transactions
      end

      # @see Producer#produce_async
      def produce_async(message) = wrap_one("message.produce_async", message) { |own| send_async(own) }

      # @see Producer#produce_sync
      def produce_sync(message) = wrap_one("message.produce_sync", message) { |own| send_sync(own) }

      # @see Producer#produce_many_async
      # @param sync [Boolean] whether to wait for all reports
      def produce_many(messages, sync: false, handle: true)
        wrap(sync ? MANY_SYNC : MANY_ASYNC, messages) { |own| send_many(own, sync: sync, handle: handle) }
      end

      # Sends messages that have gone through middleware, in a transaction of their own, and waits for their reports.
      # @param messages [Array<Hash>]
      # @return [Array<Delivery::Handle>]
      # @raise [ProduceManyError]
      def send_prepared(messages) = send_many(messages, middleware: false, sync: true)

      # Runs middleware and checks the message, for {Connection#try_dispatch}.
      #
      # @param message [Hash]
      # @return [Hash]
      def prepare(message)
        wrap_one("message.ready", message) do |own|
          own = step_through(own).except(:handle, :label)
          @connection.use(@variants.topic_config) do |dispatcher, client|
            checked(own, dispatcher).tap { |prepared| client.open_topic(prepared[:topic].to_s) }
          end
        end
      end

      # @param message [Hash]
      # @return [Hash] message that deletes its key
      # @raise [MessageInvalidError]
      def tombstone(message)
        @builder.tombstone(message)
      end

      # @param messages [Array<Hash>]
      # @param event [String] emitted with the whole buffer
      # @return [void]
      def buffer(messages, event, **payload)
        @connection.ensure_usable
        wrap("messages.buffer", messages) { |own| @buffer.add(own) }
        @connection.instrument(event, **payload, buffer: @buffer.to_a) if @connection.monitor.subscribed?(event)
      end

      # Sends everything in the buffer. Messages that the client doesn't accept go back to the buffer.
      #
      # @param event [String]
      # @param sync [Boolean] whether to wait for all reports
      # @return [Array<Delivery::Handle>]
      def flush_buffer(event, sync:)
        @connection.ensure_usable
        taken = @buffer.take
        return [] if taken.empty?

        batch = step_through_taken(taken)
        @connection.instrument(event, messages: batch) { flush_batch(batch, sync) }
      end

      MANY_SYNC = "messages.produce_many_sync"
      MANY_ASYNC = "messages.produce_many_async"
      private_constant :MANY_SYNC, :MANY_ASYNC

      private

      # -- wrappers --

      def wrap_one(type, message)
        wrapper = own_wrapper or return yield(message)

        wrapper.call(type, [message]) { |messages| yield messages.first }
      end

      # Messages that aren't an Array are refused later.
      def wrap(type, messages)
        wrapper = own_wrapper
        return yield(messages) unless wrapper && messages.is_a?(Array)

        wrapper.call(type, messages) { |own| yield own }
      end

      # A user's own middleware needs no wrappers.
      def own_wrapper = @wraps && @middleware.wrapper

      # -- calls --

      def send_async(message)
        return @transactions.run { send_async(message) } if outside_transaction?

        message = step_through(message)
        @connection.use(@variants.topic_config) do |dispatcher|
          message = checked(message, dispatcher)
          @connection.instrument("message.produced_async", message: message) { dispatcher.one(message, "message.produce_async") }
        end
      end

      def send_sync(message)
        return @transactions.run { send_sync(message) } if outside_transaction?

        message = step_through(message)
        @connection.use(@variants.topic_config) do |dispatcher|
          message = checked(message, dispatcher)
          message = message.merge(handle: true) if message[:handle] == false
          @connection.instrument("message.produced_sync", message: message) do
            handle = dispatcher.one(message, "message.produce_sync")
            dispatcher.settle(handle, message, "message.produce_sync", wait_deadline)
          end
        end
      end

      # @param middleware [Boolean] whether middleware is still to be run
      def send_many(messages, middleware: true, sync: false, handle: true)
        return in_one_transaction(messages, middleware, sync, handle) if outside_transaction?

        @connection.ensure_open
        refuse_other(messages) unless messages.is_a?(Array)
        messages = messages.map { |message| step_through(message) } if middleware && !@middleware.empty?
        @connection.use(@variants.topic_config) do |dispatcher|
          messages = checked_all(messages, dispatcher)
          sync ? send_and_settle(dispatcher, messages) : send_all(dispatcher, messages, handle)
        end
      end

      def wait_deadline
        Deadline.in((@variants.current || @connection.config).max_wait_timeout)
      end

      # -- transactions --

      def outside_transaction?
        @transactions && !@transactions.current
      end

      def refuse_other(messages)
        raise MessageInvalidError, "several messages are given as an Array of Hashes, not as #{messages.class}: " \
          "produce_sync and produce_async take a single one"
      end

      # If the commit failed, none of the messages counts as dispatched.
      def in_one_transaction(messages, middleware, sync, handle)
        @transactions.run { send_many(messages, middleware: middleware, sync: sync, handle: handle) }
      rescue ProduceManyError => error
        raise ProduceManyError.new(error.message, topic: error.topic, code: error.code), cause: error.cause
      end

      # -- middleware and checks --

      # Runs once for each message, even if the message is offered to several clients.
      def step_through(message)
        @connection.ensure_open
        @middleware.run(message)
      rescue ProducerClosedError, ForkedHandleError, ConfigurationError
        raise
      rescue => error
        @connection.instrument("error.occurred", type: "producer.middleware.error", error: error, message: message)
        raise
      end

      # A message for which middleware raised, and those after it, go back to the buffer unchanged.
      def step_through_taken(taken)
        done = taken.ready.dup
        taken.fresh.each { |message| done << step_through(message) }
        done
      rescue
        @buffer.put_back(done, taken.fresh.drop(done.size - taken.ready.size))
        raise
      end

      # Most messages are checked in C; Ruby checks those that C isn't certain about.
      def checked(message, dispatcher)
        dispatcher.plain_message?(message) ? message : @builder.call(message)
      end

      def checked_all(messages, dispatcher)
        return messages if dispatcher.plain?(messages)

        @builder.call_all(messages).each { |message| dispatcher.open_topic(message[:topic]) }
      end

      # -- sending --

      def send_all(dispatcher, messages, handle)
        @connection.instrument("messages.produced_async", messages: messages) do
          dispatcher.many(messages, MANY_ASYNC, handles: handle)
        end
      end

      # After an error it still waits for the accepted messages, so that the handles in `dispatched` are resolved.
      def send_and_settle(dispatcher, messages)
        deadline = wait_deadline
        @connection.instrument("messages.produced_sync", messages: messages) do
          dispatcher.many(messages, MANY_SYNC).tap { |handles| dispatcher.settle_all(handles, messages, MANY_SYNC, deadline) }
        rescue ProduceManyError => error
          dispatcher.await_all(error.dispatched, deadline)
          raise
        end
      end

      # Messages that the client didn't accept go back to the buffer; if that is unknown, the whole batch does.
      def flush_batch(batch, sync)
        rest = batch
        sent = wrap(sync ? MANY_SYNC : MANY_ASYNC, batch) { |own| send_many(own, middleware: false, sync: sync) }
        rest = []
        sent
      rescue ProduceManyError => error
        rest = batch.drop(error.dispatched.size) # a batch in a transaction of its own has nothing dispatched
        raise
      ensure
        @buffer.put_back(rest) unless rest.empty?
      end
    end
  end
end
