# frozen_string_literal: true

require_relative "../backoff"

module Penstock
  module Processing
    module Failure
      # How long a record waits before it is tried again: by the class of its error, else as the topic says. What a block of
      # the user's answers is asked on the worker ({#ask}) and handed to the loop as a number.
      class Backoffs
        # Nobody waits longer than a day by mistake.
        LONGEST_MS = 86_400_000

        # @param pause [#timeout, #max_timeout, #exponential] the topic's
        # @param entries [Array<Routing::BackoffFor>] asked in their order
        def initialize(pause, entries)
          @default = backoff(pause)
          @entries = entries.map { |entry| [entry, backoff(entry)] }.freeze
          freeze
        end

        # @return [Boolean] whether there are blocks to be asked
        def asks? = @entries.any? { |entry, _backoff| entry.with }

        # Runs user code: on workers only.
        # @param error [Exception]
        # @param attempt [Integer]
        # @return [Integer, nil] ms; nil: no block is for this error, or it answered nil
        # @raise [TypeError] when it answered anything else
        def ask(error, attempt)
          entry, = entry_for(error)
          answer = entry&.with&.call(error, attempt) or return
          raise TypeError, "backoff_for answers ms, a number, not #{answer.inspect[0, 80]}" unless answer.is_a?(Numeric)

          answer.ceil.clamp(0, LONGEST_MS)
        end

        # @param error [Exception]
        # @param attempt [Integer] failures, this one included
        # @param asked [Integer, nil] what {#ask} answered
        # @return [Integer] ms
        def delay_ms(error, attempt, asked = nil)
          asked || (entry_for(error)&.last || @default).delay_ms(attempt)
        end

        private

        def backoff(pause) = Backoff.new(pause.timeout, pause.max_timeout, pause.exponential)

        def entry_for(error) = @entries.find { |entry, _backoff| entry.for?(error) }
      end
    end
  end
end
