# frozen_string_literal: true

require_relative "../consumer/claim"

module Penstock
  module Runtime
    # Asks a producer for the outcome of a transaction that its worker doesn't know, until there is an answer, and posts it to the
    # poll loop. Runs on a thread of its own; ends with the answer, or with the loop. Nothing else would find the outcome, so
    # errors are reported and the query is repeated.
    class TransactionResolver
      # Shortest and longest wait between two queries; the producer's own calls wait for the broker.
      WAIT_MS = (20..1_000)
      private_constant :WAIT_MS

      # @param claim [Consumer::Claim]
      # @param mailbox [Mailbox]
      # @param pause [#call] waits for the given number of milliseconds
      # @param report [#call] called with the first error of each class
      def initialize(claim, mailbox, pause: ->(delay_ms) { sleep(delay_ms / 1_000.0) }, report: ->(_error) {})
        @claim = claim
        @mailbox = mailbox
        @pause = pause
        @report = report
        @reported = {}
      end

      # @return [void]
      def run
        delay_ms = WAIT_MS.begin
        while (fate = query) == :unknown && !@mailbox.closed?
          @pause.call(delay_ms)
          delay_ms = [delay_ms * 2, WAIT_MS.end].min
        end
        @mailbox.post(Consumer::Claim::TransactionEnd.new(@claim, fate))
      end

      private

      def query
        @claim.producer.settle_transaction(@claim.transaction)
      rescue => error
        @report.call(error) unless @reported.key?(error.class)
        @reported[error.class] = true
        :unknown
      end
    end
  end
end
