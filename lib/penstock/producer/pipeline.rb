# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "flush"

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
        added = nil
        wrap("messages.buffer", messages) { |own| added = own }
        @buffer.add(added) if added # not if a wrapper raises: its caller would buffer them again
        @connection.instrument(event, **payload, buffer: @buffer.to_a) if @connection.monitor.subscribed?(event)
      end

      # Sends everything in the buffer. Messages that the client doesn't accept go back to the buffer.
      #
      # @param event [String]
      # @param sync [Boolean] whether to wait for all reports
      # @return [Array<Delivery::Handle>]
      def flush_buffer(event, sync:)
        @connection.ensure_usable
        flush = Flush.new(@buffer)
        sent = flush.run do
          batch = flush.prepare { |message| step_through(message) }
          @connection.instrument(event, messages: batch) { flush_batch(flush, sync) }
        end
        sent || []
      end

      # Sends the messages of the buffer that can be sent, each alone. The others stay in it.
      #
      # @return [Hash{Hash => Exception}] why, by message
      def flush_each
        flush = Flush.new(@buffer)
        flush.run do
          flush.each_alone do |message, ready|
            send_many([ready ? message : step_through(message)], middleware: false, accepted: flush.accepted)
          end
        end || {}
      end

      MANY_SYNC = "messages.produce_many_sync"
      MANY_ASYNC = "messages.produce_many_async"
      private_constant :MANY_SYNC, :MANY_ASYNC

      private

      # -- wrappers --

      def wrap_one(type, message)
        wrapper = own_wrapper or return yield(message)

        within(wrapper, type, [message]) do |messages|
          refuse_yielded(type, messages, "an Array with one message") unless messages.is_a?(Array) && messages.size == 1
          yield messages.first
        end
      end

      # Messages that aren't an Array are refused later.
      def wrap(type, messages)
        wrapper = own_wrapper
        return yield(messages) unless wrapper && messages.is_a?(Array)

        within(wrapper, type, messages) do |own|
          refuse_yielded(type, own, "an Array of messages") unless own.is_a?(Array)
          yield own
        end
      end

      # Without this error messages would count as sent.
      def within(wrapper, type, messages)
        called = false
        result = wrapper.call(type, messages) do |own|
          called = true
          yield own
        end
        return result if called

        raise UnsupportedCaseError, "a wrapper of the producer's middleware (around) returned without yielding: nothing was " \
          "sent by #{type}. Yield the messages, or raise an error"
      end

      def refuse_yielded(type, messages, allowed)
        what = messages.is_a?(Array) ? "#{messages.size} messages" : messages.class
        raise MessageInvalidError, "a wrapper of the producer's middleware (around) yielded #{what} to #{type}, which takes " \
          "#{allowed}"
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
      # @param accepted [Array] what the client accepts is added to it, also before an error; in a transaction of its own only
      #   once that is committed
      def send_many(messages, middleware: true, sync: false, handle: true, accepted: [])
        return in_one_transaction(messages, middleware, sync, handle, accepted) if outside_transaction?

        @connection.ensure_open
        refuse_other(messages) unless messages.is_a?(Array)
        messages = messages.map { |message| step_through(message) } if middleware && !@middleware.empty?
        @connection.use(@variants.topic_config) do |dispatcher|
          messages = checked_all(messages, dispatcher)
          sync ? send_and_settle(dispatcher, messages, accepted) : send_all(dispatcher, messages, handle, accepted)
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
      def in_one_transaction(messages, middleware, sync, handle, accepted)
        sent = @transactions.run { send_many(messages, middleware: middleware, sync: sync, handle: handle) }
        accepted.replace(sent)
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

      # Most messages are checked in C; Ruby checks those that C isn't certain about.
      def checked(message, dispatcher)
        dispatcher.plain_message?(message) ? message : @builder.call(message)
      end

      def checked_all(messages, dispatcher)
        return messages if dispatcher.plain?(messages)

        @builder.call_all(messages).each { |message| dispatcher.open_topic(message[:topic]) }
      end

      # -- sending --

      def send_all(dispatcher, messages, handle, accepted)
        @connection.instrument("messages.produced_async", messages: messages) do
          dispatcher.many(messages, MANY_ASYNC, handles: handle, accepted: accepted)
        end
      end

      # After an error it still waits for the accepted messages, so that the handles in `dispatched` are resolved.
      def send_and_settle(dispatcher, messages, accepted)
        deadline = wait_deadline
        @connection.instrument("messages.produced_sync", messages: messages) do
          dispatcher.many(messages, MANY_SYNC, accepted: accepted)
            .tap { |handles| dispatcher.settle_all(handles, messages, MANY_SYNC, deadline) }
        rescue ProduceManyError => error
          dispatcher.await_all(error.dispatched, deadline)
          raise
        end
      end

      # @param flush [Flush] prepared
      def flush_batch(flush, sync)
        wrap(sync ? MANY_SYNC : MANY_ASYNC, flush.ready) do |own|
          send_many(flush.sending(own), middleware: false, sync: sync, accepted: flush.accepted)
        end
      end
    end
  end
end
