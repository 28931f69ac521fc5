# frozen_string_literal: true

require_relative "../consumer/claim"

module Penstock
  module Runtime
    # Asks a producer what became of a transaction whose worker couldn't say, until there is an answer, and tells the poll loop.
    # The body of a thread of its own; ends with the answer, or with the loop. Nobody else would say how it ended, so an error is
    # told, and the question asked again.
    class Inquiry
      # Between two questions; the producer's own calls wait for the broker.
      WAIT_MS = (20..1_000)
      private_constant :WAIT_MS

      # @param claim [Consumer::Claim]
      # @param mailbox [Mailbox]
      # @param pause [#call] waits so many milliseconds
      # @param report [#call] is told of errors, of each kind once
      def initialize(claim, mailbox, pause: ->(delay_ms) { sleep(delay_ms / 1_000.0) }, report: ->(_error) {})
        @claim = claim
        @mailbox = mailbox
        @pause = pause
        @report = report
        @told = {}
      end

      # @return [void]
      def run
        delay_ms = WAIT_MS.begin
        while (fate = ask) == :unknown && !@mailbox.closed?
          @pause.call(delay_ms)
          delay_ms = [delay_ms * 2, WAIT_MS.end].min
        end
        @mailbox.post(Consumer::Claim::Word.new(@claim, fate))
      end

      private

      def ask
        @claim.producer.settle_transaction(@claim.transaction)
      rescue => error
        @report.call(error) unless @told.key?(error.class)
        @told[error.class] = true
        :unknown
      end
    end
  end
end
