# frozen_string_literal: true

require_relative "../../deadline"
require_relative "../../errors"
require_relative "../../native/delivery"
require_relative "report"

module Penstock
  class Producer
    # The results of producing: a {Handle} for each message, and a {Report} once its outcome is known.
    module Delivery
      # Default time limit of a wait, in ms: above `message.timeout.ms` (150 s), so that a wait normally ends with a final
      # outcome.
      WAIT_TIMEOUT_MS = 180_000

      # Waits for many handles, the last first: it is often resolved last, so that most others needn't be waited for.
      #
      # @param handles [Array<Handle>]
      # @param timeout_ms [Integer, nil] milliseconds for all of them together; nil waits without a limit
      # @param raise_response_error [Boolean] false returns the reports of failed deliveries too
      # @return [Array<Report>] in the order of the handles
      # @raise [WaitTimeoutError] the time limit was reached before all outcomes were known
      # @raise [KafkaError] of the first that was not delivered, once all outcomes are known
      def self.wait_all(handles, timeout_ms: WAIT_TIMEOUT_MS, raise_response_error: true)
        deadline = Deadline.in(timeout_ms)
        handles.reverse_each { |handle| handle.wait(timeout_ms: deadline.remaining_ms, raise_response_error: false) }
        reports = handles.map(&:create_result)
        failed = raise_response_error && reports.find(&:error)
        raise failed.error if failed

        reports
      end

      # The methods of a handle, with or without a client.
      module Waiting
        # Waits until the outcome of the message is known. May be called by any thread, by several threads, and again.
        #
        # @param timeout_ms [Integer, nil] milliseconds; nil waits without a limit
        # @param max_wait_timeout_ms [Integer, nil] the same, Karafka's name for it
        # @param raise_response_error [Boolean] false returns the report of a failed delivery instead of raising its error
        # @return [Report]
        # @raise [WaitTimeoutError] the time limit was reached. The outcome is *unknown*, not failed: the message may still
        #   arrive, and the handle can be waited for again
        # @raise [KafkaError] it was not delivered; `report.outcome` is whether that is certain
        # @raise [ForkedHandleError] in a child of the process that produced it
        # @raise [ArgumentError] for names of rdkafka whose unit is a second
        def wait(timeout_ms: WAIT_TIMEOUT_MS, max_wait_timeout_ms: timeout_ms, raise_response_error: true, timeout: nil,
          max_wait_timeout: nil)
          refuse_seconds(timeout || max_wait_timeout) if timeout || max_wait_timeout
          raise WaitTimeoutError, timeout_text(max_wait_timeout_ms) unless settled_within?(max_wait_timeout_ms)

          report = create_result
          raise report.error if raise_response_error && report.error

          report
        end

        # @return [Boolean]
        def pending?
          !done?
        end

        # @return [Report, nil] nil while it is pending
        def create_result
          return unless done?

          memo || (self.memo = Report.new(row))
        end
        alias_method :report, :create_result

        # @return [String, nil] `topic/partition/offset` of the stored record, as {Message#uid}; nil while the message is pending,
        #   and when it was not delivered. Costs less than a {Report}
        def uid = ("#{topic}/#{partition}/#{offset}" if number == 0)

        # @param name [:partition, :offset, :topic, :label, :error]
        # @return [Object, nil]
        def [](name)
          case name.to_sym
          when :partition then partition
          when :offset then offset
          when :topic, :topic_name then topic
          when :label then label
          when :error then error
          end
        end

        private

        def refuse_seconds(given)
          ms = (given.is_a?(Numeric) && given.finite?) ? (given * 1_000).round : "…"
          raise ArgumentError, "wait has no limit in seconds: write wait(timeout_ms: #{ms}), in milliseconds"
        end

        # With a fiber scheduler only the fiber waits, not its thread.
        def settled_within?(timeout_ms)
          return true if done?

          Fiber.current_scheduler ? wait_in_fiber(timeout_ms) : await(timeout_ms)
        end

        def timeout_text(timeout_ms)
          "no report for a message to #{topic} within #{timeout_ms} ms. Its outcome is unknown: it may still arrive; " \
            "wait for the handle again, or raise timeout_ms above message.timeout.ms"
        end
      end

      # The delivery of a message, as {Producer#produce_async} returns it. The object is the native delivery itself: one Ruby
      # object per message.
      class Handle < Native::Delivery
        include Waiting
      end
    end
  end
end
