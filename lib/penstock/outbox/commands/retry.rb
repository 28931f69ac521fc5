# frozen_string_literal: true

require_relative "base"

module Penstock
  module OutboxCommands
    # Has rows sent that are stuck.
    class Retry < Base
      command "outbox retry", "Sends rows that are parked or set aside now", usage: "ID…", arguments: (1..)
      details <<~TEXT
        A row that was set aside goes out behind the rows of its key that went on without it.
      TEXT

      private

      def call(words)
        rows = ids(words)
        boot
        say "#{Outbox.retry(rows)} of #{rows.size} rows are to be sent now"
      end
    end
  end
end
