# frozen_string_literal: true

require_relative "base"

module Penstock
  module OutboxCommands
    # Makes stuck rows due now.
    class Retry < Base
      command "outbox retry", "Sends rows that are parked or set aside now", usage: "ID…", arguments: (1..)
      details <<~TEXT
        A row that was set aside is sent after the rows of its key that didn't wait for it.
      TEXT

      private

      def call(words)
        rows = ids(words)
        boot
        say "#{Outbox.retry(rows)} of #{rows.size} rows are due now"
      end
    end
  end
end
