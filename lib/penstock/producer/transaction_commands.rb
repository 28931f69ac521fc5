# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/kafka_hints"
require_relative "off_thread"

module Penstock
  class Producer
    # Makes the calls that begin and end a transaction, retries them while librdkafka reports the error as retriable, and emits
    # `error.occurred` each time they fail. Used by the thread that has the transaction; keeps only the deadline of the
    # producer's close, after which it doesn't wait any more.
    class TransactionCommands
      # @param settings [Settings]
      # @param clock [Clock]
      # @param pause [#call] waits for the given number of milliseconds
      def initialize(settings, clock: Clock::SYSTEM, pause: ->(delay_ms) { sleep(delay_ms / 1_000.0) })
        @settings = settings
        @clock = clock
        @pause = pause
        @end = Deadline.never(clock: clock)
      end

      # Limits every call from now on.
      #
      # @param deadline [Deadline]
      # @return [void]
      def end_by(deadline)
        @end = deadline
      end

      # @param name [String] of the command in `error.occurred`
      # @yieldparam timeout_ms [Integer] the remaining time
      # @return [void]
      # @raise [KafkaError] if it is retriable, the outcome is unknown
      def call(name)
        deadline = @end.within(@settings.max_wait_timeout)
        attempt = 1
        begin
          OffThread.call { yield(deadline.remaining_ms) }
        rescue KafkaError => error
          again = again?(error, attempt, deadline)
          report(name, error, attempt, again)
          raise explained(error) unless again

          @pause.call(deadline.wait_ms(@settings.wait_backoff_on_transaction_command * attempt))
          attempt += 1
          retry
        end
      end

      # @param delay_ms [Integer]
      # @return [void]
      def pause(delay_ms)
        @pause.call(@end.wait_ms(delay_ms))
      end

      # @param timeout_ms [Integer]
      # @return [Deadline] no later than that of the producer's close
      def deadline(timeout_ms)
        @end.within(timeout_ms)
      end

      private

      # A message that wasn't delivered in time also makes a commit time out: librdkafka reports that as both errors.
      def again?(error, attempt, deadline)
        error.retriable? && !error.abortable? && attempt < @settings.max_attempts_on_transaction_command && !deadline.expired?
      end

      # @return [KafkaError] the same error, with what can be done about it
      def explained(error)
        hint = Instrumentation::KafkaHints.of(error) or return error

        error.exception("#{error.message}. #{hint}")
      end

      def report(name, error, attempt, again)
        @settings.monitor.instrument("error.occurred", type: "transaction.#{name}", error: error, attempt: attempt,
          retry: again, producer_id: @settings.id)
      end
    end
  end
end
