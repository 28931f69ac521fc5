# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/kafka_hints"
require_relative "../native/delivery"
require_relative "off_thread"
require_relative "size_hint"
require_relative "transaction_reason"

module Penstock
  class Producer
    # Passes checked messages to the client, waits for room while its queue is full, and waits for reports. Converts the
    # client's errors into those of the public API, writes their text (`fail_with`, `hints`), and emits each as
    # `error.occurred`.
    #
    # Belongs to an {OpenClient}. Used by every thread that produces; keeps no messages.
    class Dispatcher
      QUEUE_FULL = QueueFullError.new.number

      # @param client [Native::Producer, DryClient]
      # @param settings [Settings]
      # @yieldparam error [KafkaError] the fatal error of the client
      # @yieldreturn [Boolean] whether another client has replaced it
      def initialize(client, settings, &revive)
        @client = client
        @settings = settings
        @monitor = settings.monitor
        @id = settings.id
        @transactional = !settings.kafka[:"transactional.id"].nil?
        @revive = revive
        @end = Deadline.never
      end

      # Limits all waits for room from now on.
      #
      # @param deadline [Deadline]
      # @return [void]
      def end_by(deadline)
        @end = deadline
      end

      # @param message [Hash] prepared
      # @param type [String] of the error event: the API call it belongs to
      # @return [Delivery::Handle, true]
      # @raise [ProduceError] with the KafkaError as its cause
      # @raise [HandleClosedError] the client was replaced and has not sent the message
      def one(message, type)
        with_room(type, message: message) { offer(message) }
      rescue KafkaError => error
        error = refusal(error)
        fail_with(error, type, ProduceError, message, message: message)
      end

      # Replaces the client after a fatal error.
      #
      # @param error [KafkaError] with which it refused a message
      # @return [Boolean] whether there is another client now
      def replace_client(error)
        fatal = fatal_of(error)
        (fatal && @revive&.call(fatal)) || false
      rescue HandleClosedError
        true
      end

      # Registers a topic with the client before its first message.
      #
      # @param name [String]
      # @return [void]
      def open_topic(name)
        @client.open_topic(name)
      end

      # @param message [Hash]
      # @return [Boolean] whether the client can send it without a check in Ruby
      def plain_message?(message)
        @client.plain_message?(message)
      end

      # @param messages [Array<Hash>]
      # @return [Boolean] whether the client can send them without a check in Ruby
      def plain?(messages)
        @client.plain?(messages)
      end

      # Never blocks.
      #
      # @param message [Hash] prepared
      # @return [Delivery::Handle, nil] nil while the queue is full
      # @raise [KafkaError]
      def try(message)
        offer(message)
      rescue QueueFullError
        nil
      end

      # @param handles [Boolean]
      # @param accepted [Array] empty; the result, also before an error
      # @return [Array<Delivery::Handle>, Array<true>] one per message, in their order
      # @raise [ProduceManyError] whose `dispatched` are the handles of those accepted before the error
      def many(messages, type, handles: true, accepted: [])
        with_room(type, messages: messages) { offer_rest(messages, accepted, handles) } until
          accepted.size == messages.size
        accepted
      rescue KafkaError => error
        error = refusal(error, accepted)
        fail_with(error, type, ProduceManyError, messages[accepted.size], messages: messages, dispatched: accepted)
      rescue HandleClosedError => error
        raise if accepted.empty?

        fail_with(ended(error), type, ProduceManyError, messages[accepted.size], messages: messages, dispatched: accepted)
      end

      # Waits until the message is delivered; queued messages are sent at once, without lingering.
      #
      # @param deadline [Deadline]
      # @return [Delivery::Report]
      # @raise [ProduceError] its cause is a KafkaError, or a WaitTimeoutError when the outcome is unknown
      def settle(handle, message, type, deadline)
        report = await(handle, deadline)
        raise report.error if report.error

        report
      rescue KafkaError, WaitTimeoutError => error
        fail_with(error, type, ProduceError, message, message: message)
      end

      # Waits for all of them until the deadline. Starts with the last, whose report often comes last.
      #
      # @param handles [Array<Delivery::Handle>]
      # @param deadline [Deadline]
      # @return [void]
      def await_all(handles, deadline)
        handles.reverse_each { |handle| wait(handle, deadline.remaining_ms) unless handle.done? }
      end

      # Waits for all of them before it raises the first failure.
      #
      # @return [void]
      # @raise [ProduceManyError]
      def settle_all(handles, messages, type, deadline)
        await_all(handles, deadline)
        handles.each_with_index do |handle, index|
          next if handle.number == 0 # delivered: no report is needed

          error = error_of(handle, deadline) or next
          fail_with(error, type, ProduceManyError, messages[index], messages: messages, dispatched: handles)
        end
      end

      private

      def await(handle, deadline)
        wait(handle, deadline.remaining_ms) or raise WaitTimeoutError, undecided(deadline)
        handle.create_result
      end

      # With a fiber scheduler only the fiber waits, not its thread.
      def wait(handle, timeout_ms)
        return @client.sync_wait(handle, timeout_ms) unless Fiber.current_scheduler

        handle.wait_in_fiber(timeout_ms, urgent: true)
      end

      # Returns the error to raise for a refusal. If the client was replaced and has accepted nothing of the batch, another
      # client may take it: raises HandleClosedError.
      def refusal(error, accepted = [])
        fatal = fatal_of(error) or return error
        raise HandleClosedError, "the client was replaced" if accepted.empty? && @revive&.call(fatal)

        fatal
      rescue HandleClosedError
        raise if accepted.empty?

        error
      end

      # The fatal error of the client; the error of the refusal only indicates that there was one.
      def fatal_of(error)
        number, text = @client.fatal_error if error.code == :fatal
        return unless number

        KafkaError.build(number: number, name: Native::Delivery.error_for(number).code, message: text, fatal: true)
      end

      # The client was closed between two parts of a batch.
      def ended(error)
        KafkaError.new(error.message, code: :destroy, number: -197)
      end

      def undecided(deadline)
        last = @client.last_error
        limit = deadline.length_ms || @settings.max_wait_timeout
        "no report within max_wait_timeout (#{limit} ms). The outcome is unknown: the message may " \
          "still arrive#{". The client's last error: #{last}" unless last.empty?}"
      end

      def error_of(handle, deadline)
        await(handle, deadline).error
      rescue WaitTimeoutError => error
        error
      end

      # Tries the fast path first; also returns nil when the queue is full.
      def offer(message)
        @client.dispatch(message) || offer_parts(message)
      end

      def offer_parts(message)
        @client.open_topic(message[:topic])
        @client.offer(message[:topic], message[:payload], message[:key], message[:partition], message[:timestamp],
          message[:headers], message.fetch(:handle, true), message[:label])
      end

      # True if some were accepted; the rest is offered again, with a new time limit.
      def offer_rest(messages, accepted, handles)
        before = accepted.size
        number = @client.dispatch_slice(messages, before, handles, accepted)
        return true if number.zero? || accepted.size > before
        return if number == QUEUE_FULL

        raise Native::Delivery.error_for(number)
      end

      # Calls the block until it returns a result, and waits for room between two calls.
      def with_room(type, context)
        deadline = nil
        attempt = 0
        loop do
          ticket = @client.ticket
          result = yield
          return result if result

          deadline ||= @end.within(@settings.wait_timeout_on_queue_full)
          await_room(ticket, deadline, attempt += 1, type, context)
        end
      end

      def await_room(ticket, deadline, attempt, type, context)
        raise QueueFullError if !@settings.wait_on_queue_full || deadline.expired?

        report_full(attempt, type, context)
        wait_ms = deadline.wait_ms(@settings.wait_backoff_on_queue_full)
        OffThread.call { @client.wait_for_room(ticket, wait_ms) }
      end

      def report_full(attempt, type, context)
        @monitor.instrument("producer.queue_full", producer_id: @id, attempt: attempt, **context.slice(:message))
        return unless attempt == 1 && @settings.instrument_on_wait_queue_full

        report_error(QueueFullError.new, type, context)
      end

      def report_error(error, type, context)
        @monitor.instrument("error.occurred", type: type, error: error, producer_id: @id, **context)
      end

      def fail_with(error, type, kind, message, **context)
        error = TransactionReason.of(error, @client) if @transactional # it sends nothing outside of a transaction
        report_error(error, type, (@transactional && context.key?(:dispatched)) ? {**context, dispatched: []} : context)
        topic = message[:topic] if message
        place = (error.is_a?(KafkaError) && error.code == :unknown_partition) ? partition_of(message) : topic
        options = {topic: topic, code: (error.code if error.is_a?(KafkaError)), dispatched: context[:dispatched]}.compact
        raise kind.new(["#{place}: #{error.message}", *hints(error, message)].join(". "), **options), cause: error
      end

      def partition_of(message) = message.to_h.values_at(:topic, :partition).compact.join("/")

      # The way out, and for a message that couldn't be sent in time the client's last error.
      def hints(error, message)
        code = error.code if error.is_a?(KafkaError)
        return [SizeHint.of(message, @settings.kafka)] if code == :msg_size_too_large && message

        last = @client.last_error.to_s if code == :msg_timed_out
        last = last.to_s.empty? ? nil : "The client's last error: #{last}"
        [Instrumentation::KafkaHints.of(error, topic: message&.fetch(:topic, nil)), last].compact
      end
    end
  end
end
