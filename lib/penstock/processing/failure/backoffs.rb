# frozen_string_literal: true

require_relative "../backoff"

module Penstock
  module Processing
    module Failure
      # Decides how long a record waits before its next attempt: by the class of its error, else by the topic's configuration. A
      # user's block is called on the worker ({#call_block}); the loop gets its return value as a number.
      class Backoffs
        # Upper limit for the return value of a block: a day.
        LONGEST_MS = 86_400_000

        # @param pause [#timeout, #max_timeout, #exponential] the topic's
        # @param entries [Array<Routing::BackoffFor>] the first match counts
        def initialize(pause, entries)
          @default = backoff(pause)
          @entries = entries.map { |entry| [entry, backoff(entry)] }.freeze
          freeze
        end

        # @return [Boolean] whether there are blocks to be called
        def blocks? = @entries.any? { |entry, _backoff| entry.with }

        # Runs user code: on workers only.
        # @param error [Exception]
        # @param attempt [Integer]
        # @return [Integer, nil] ms; nil: no block is for this error, or it returned nil
        # @raise [TypeError] when it returned anything else
        def call_block(error, attempt)
          entry, = entry_for(error)
          answer = entry&.with&.call(error, attempt) or return
          unless answer.is_a?(Numeric) && answer.real? && answer.finite?
            raise TypeError, "backoff_for: return ms as a finite number, not #{answer.inspect[0, 80]}"
          end

          answer.ceil.clamp(0, LONGEST_MS)
        end

        # @param error [Exception]
        # @param attempt [Integer] failures, this one included
        # @param requested [Integer, nil] the return value of {#call_block}
        # @return [Integer] ms
        def delay_ms(error, attempt, requested = nil)
          requested || (entry_for(error)&.last || @default).delay_ms(attempt)
        end

        # @param error [Exception]
        # @param attempt [Integer] failures, this one included
        # @return [Integer, nil] ms; nil: a block decides
        def known_ms(error, attempt) = (delay_ms(error, attempt) unless entry_for(error)&.first&.with)

        private

        def backoff(pause) = Backoff.of(pause)

        def entry_for(error) = @entries.find { |entry, _backoff| entry.for?(error) }
      end
    end
  end
end
