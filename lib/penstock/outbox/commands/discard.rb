# frozen_string_literal: true

require_relative "base"

module Penstock
  module OutboxCommands
    # Deletes stuck rows without sending them.
    class Discard < Base
      command "outbox discard", "Deletes rows that are parked or set aside, unsent", usage: "ID…", arguments: (1..)
      details <<~TEXT
        Their messages are never sent. Rows that waited for a parked row are sent.
      TEXT

      private

      def call(words)
        rows = ids(words)
        boot
        say "#{Outbox.discard(rows)} of #{rows.size} rows deleted"
      end
    end
  end
end
