# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Rows of a database that become messages.
      module Outbox
        TITLE = "Outbox"

        class << self
          def declare(catalogue)
            catalogue.event("outbox.relay_started", "A relay begins to look at its table.", :table)
            catalogue.event("outbox.relay_stopped", "A relay has ended.", :table)
            catalogue.event("outbox.relayed", "Kafka has messages of the outbox, and the table knows.", :table, :messages_count)
            catalogue.event("outbox.parked", "Rows can't be delivered for now: they are tried again, and what has their key " \
              "waits behind them.", :table, :topic, :rows, :error, :attempt, :retry_in_ms)
            catalogue.event("outbox.set_aside", "Rows that Kafka refuses are set aside; what has their key goes on without them.",
              :table, :topic, :rows, :error, :attempt)
            catalogue.event("outbox.lag", "How far the outbox is behind; each `lag_interval`, while somebody listens.", :table,
              :count, :oldest_age_ms, :parked, :held, :aside)
          end
        end
      end
    end
  end
end
