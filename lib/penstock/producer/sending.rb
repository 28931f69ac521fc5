# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../native/delivery"
require_relative "aside"

module Penstock
  class Producer
    # Hands prepared messages to the client and waits for room while its queue is full; turns what the client refuses or
    # reports into the errors of the public API, each of which is told as `error.occurred` too. Used by every thread that
    # produces; keeps nothing.
    class Sending
      QUEUE_FULL = QueueFullError.new.number

      # @param client [Native::Producer, DryClient]
      # @param settings [Settings]
      # @yieldparam error [KafkaError] which has ended the client
      # @yieldreturn [Boolean] whether another client has taken its place
      def initialize(client, settings, &revive)
        @client = client
        @settings = settings
        @monitor = settings.monitor
        @id = settings.id
        @transactional = !settings.kafka[:"transactional.id"].nil?
        @revive = revive
        @end = Deadline.never
      end

      # Nothing waits for room any longer than this from here on.
      #
      # @param deadline [Deadline]
      # @return [void]
      def end_by(deadline)
        @end = deadline
      end

      # @param message [Hash] prepared
      # @param type [String] of the error event: which call of the API it is
      # @return [Delivery::Handle, true]
      # @raise [ProduceError] with the KafkaError as its cause
      # @raise [HandleClosedError] there is another client now, and this one hasn't sent it
      def one(message, type)
        with_room(type, message: message) { offer(message) }
      rescue KafkaError => error
        error = refusal(error)
        fail_with(error, type, ProduceError, message, message: message)
      end

      # Has another client put in the place of one that an error has ended.
      #
      # @param error [KafkaError] with which it has refused a message
      # @return [Boolean] whether there is another one now
      def replace_client(error)
        fatal = fatal_of(error)
        (fatal && @revive&.call(fatal)) || false
      rescue HandleClosedError
        true
      end

      # Makes topics known that are used for the first time.
      #
      # @param name [String]
      # @return [void]
      def open_topic(name)
        @client.open_topic(name)
      end

      # @param message [Hash]
      # @return [Boolean] whether the client can do with it as it is
      def plain_message?(message)
        @client.plain_message?(message)
      end

      # @param messages [Array<Hash>]
      # @return [Boolean] whether the client can do with them as they are
      def plain?(messages)
        @client.plain?(messages)
      end

      # Never waits.
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
      # @return [Array<Delivery::Handle>, Array<true>] one a message, in their order
      # @raise [ProduceManyError] whose `dispatched` are the handles of those accepted before the error
      def many(messages, type, handles: true)
        accepted = []
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

      # Waits until the message is delivered; what is queued leaves at once, without lingering.
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

      # Waits for all of them, or until the time is over; from the last on, for it is often the last to be known.
      #
      # @param handles [Array<Delivery::Handle>]
      # @param deadline [Deadline]
      # @return [void]
      def await_all(handles, deadline)
        handles.reverse_each { |handle| wait(handle, deadline.remaining_ms) unless handle.done? }
      end

      # Waits for all of them before the first failure is raised.
      #
      # @return [void]
      # @raise [ProduceManyError]
      def settle_all(handles, messages, type, deadline)
        await_all(handles, deadline)
        errors = handles.map { |handle| error_of(handle, deadline) }
        first = errors.index { |error| error } or return

        fail_with(errors[first], type, ProduceManyError, messages[first], messages: messages, dispatched: handles)
      end

      private

      def await(handle, deadline)
        wait(handle, deadline.remaining_ms) or raise WaitTimeoutError, undecided
        handle.create_result
      end

      # Where a fiber scheduler runs, the fiber waits and its thread goes on.
      def wait(handle, timeout_ms)
        return @client.sync_wait(handle, timeout_ms) unless Fiber.current_scheduler

        handle.wait_in_fiber(timeout_ms, urgent: true)
      end

      # What the client's refusal means. With another client in its place the message may go there, if nothing of its batch
      # has gone to this one.
      def refusal(error, accepted = [])
        fatal = fatal_of(error) or return error
        raise HandleClosedError, "the client was replaced" if accepted.empty? && @revive&.call(fatal)

        fatal
      rescue HandleClosedError
        raise if accepted.empty?

        error
      end

      # The error that ended the client, of which it only says that there was one.
      def fatal_of(error)
        number, text = @client.fatal_error if error.code == :fatal
        return unless number

        KafkaError.build(number: number, name: Native::Delivery.error_for(number).code, message: text, fatal: true)
      end

      # The client was closed between two parts of a batch.
      def ended(error)
        KafkaError.new(error.message, code: :destroy, number: -197)
      end

      def undecided
        last = @client.last_error
        "no report within max_wait_timeout (#{@settings.max_wait_timeout} ms). The outcome is unknown: the message may " \
          "still arrive#{". The client's last error: #{last}" unless last.empty?}"
      end

      def error_of(handle, deadline)
        await(handle, deadline).error
      rescue WaitTimeoutError => error
        error
      end

      # The quick way first; it answers nothing when the queue is full too.
      def offer(message)
        @client.dispatch(message) || offer_parts(message)
      end

      def offer_parts(message)
        @client.open_topic(message[:topic])
        @client.offer(message[:topic], message[:payload], message[:key], message[:partition], message[:timestamp],
          message[:headers], message.fetch(:handle, true), message[:label])
      end

      # True when some were accepted; the rest is asked for again, with new patience.
      def offer_rest(messages, accepted, handles)
        before = accepted.size
        number = @client.dispatch_slice(messages, before, handles, accepted)
        return true if number.zero? || accepted.size > before
        return if number == QUEUE_FULL

        raise Native::Delivery.error_for(number)
      end

      # Calls the block until it answers something.
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

        tell_full(attempt, type, context)
        wait_ms = deadline.wait_ms(@settings.wait_backoff_on_queue_full)
        Aside.call { @client.wait_for_room(ticket, wait_ms) }
      end

      def tell_full(attempt, type, context)
        @monitor.instrument("producer.queue_full", producer_id: @id, attempt: attempt, **context.slice(:message))
        return unless attempt == 1 && @settings.instrument_on_wait_queue_full

        tell(QueueFullError.new, type, context)
      end

      def tell(error, type, context)
        @monitor.instrument("error.occurred", type: type, error: error, producer_id: @id, **context)
      end

      def fail_with(error, type, kind, message, **context)
        tell(error, type, (@transactional && context.key?(:dispatched)) ? {**context, dispatched: []} : context)
        topic = message[:topic] if message
        options = {topic: topic, code: (error.code if error.is_a?(KafkaError)), dispatched: context[:dispatched]}.compact
        raise kind.new("#{topic}: #{error.message}", **options), cause: error
      end
    end
  end
end
