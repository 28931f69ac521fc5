# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../on_demand"
require_relative "breaker"
require_relative "error_names"
Penstock.load_constant :AssignmentLostError

module Penstock
  module Processing
    module Failure
      # Computes what will follow from a failure, for `error.occurred` and its log line. Runs on the worker, where listeners of
      # that event run, and before user code that decides about the failure (strategies, blocks of `backoff_for`) is called. The
      # poll loop makes the actual decision a moment later; it differs if the partition is revoked or the breaker opens in
      # between. Stateless; changes nothing.
      module Forecast
        # Errors after which a record runs again without counting an attempt.
        AGAIN = [AssignmentLostError, TransactionDeferredError].freeze
        # Names of {Policy::Destination}'s kinds in events.
        KINDS = {retry: :retry_topic, dead_letter: :dead_letter}.freeze
        private_constant :AGAIN, :KINDS

        class << self
          # @param unit [Unit] that failed
          # @param blamed [Integer, nil] offset of the record
          # @return [Hash{Symbol => Integer}] where it failed: the unit's offsets, its attempt, and the record's offset if it is
          #   known which record failed
          def place(unit, blamed)
            messages = unit.messages
            known = blamed && unit.located?
            attempt = (blamed.nil? || blamed == messages.first_offset || !known) ? unit.attempt : 1
            {first_offset: messages.first_offset, last_offset: messages.last_offset, attempt: attempt}
              .merge(known ? {offset: blamed} : {})
          end

          # @param unit [Unit] that failed
          # @param error [Exception]
          # @param policy [Policy]
          # @param attempt [Integer] failures of the record, this one included
          # @param critical [Array<Class>] errors that stop the process
          # @param unreadable [Boolean] see {Policy#unreadable?}
          # @return [Hash{Symbol => Object}] `:next` with `:to` or `:retry_in_ms`, and `:attempts` where they are limited
          def of(unit, error, policy:, attempt:, critical: [], unreadable: false)
            known = without_policy(unit, error, critical)
            return {next: known} if known
            return {next: :strategy} if policy.strategy

            limit = {attempts: policy.attempts(unreadable: unreadable)}.compact
            destination = destination(unit, policy, attempt, unreadable)
            return {next: KINDS.fetch(destination.kind), to: destination.topic, **limit} if destination.respond_to?(:topic)
            return {next: :skip, **limit} if destination == :skip

            {next: :retry, retry_in_ms: policy.backoffs.known_ms(error, attempt), **limit}.compact
          end

          private

          def without_policy(unit, error, critical)
            return :stop if critical.any? { |klass| error.is_a?(klass) }
            return :next_owner unless unit.lane.owned?
            return :again if AGAIN.any? { |klass| error.is_a?(klass) }

            :held if held?(unit.lane.breaker, error)
          end

          def held?(breaker, error)
            breaker && !breaker.closed? && !ErrorNames.with_causes(error).intersect?(Breaker::OWN_ERRORS)
          end

          # If it isn't known which of several records failed, they run one by one first.
          def destination(unit, policy, attempt, unreadable)
            return :retry unless unit.located? || !policy.isolate?

            policy.after(attempt, unreadable: unreadable)
          end
        end
      end
    end
  end
end
