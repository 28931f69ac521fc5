# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of database rows that become messages.
      module Outbox
        TITLE = "Outbox"

        class << self
          def declare(catalogue)
            catalogue.event("outbox.relay_started", "A relay starts to read its table.", :table)
            catalogue.event("outbox.relay_stopped", "A relay has ended.", :table)
            catalogue.event("outbox.relayed", "Kafka has stored messages of the outbox, and the table was " \
              "updated.", :table, :messages_count)
            catalogue.event("outbox.parked", "Rows can't be delivered for now: they are retried, and later rows of their key " \
              "wait for them.", :table, :topic, :rows, :error, :attempt, :retry_in_ms)
            catalogue.event("outbox.set_aside", "Rows that Kafka refuses are set aside; later rows of their key are sent " \
              "without them.",
              :table, :topic, :rows, :error, :attempt)
            catalogue.event("outbox.lag", "The number of rows to be sent, every `lag_interval`, if anything subscribes to " \
              "it.", :table,
              :count, :oldest_age_ms, :parked, :held, :aside)
          end
        end
      end
    end
  end
end
