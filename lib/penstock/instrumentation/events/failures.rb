# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # What becomes of records that fail for good.
      module Failures
        TITLE = "Records that fail"
        RECORD = %i[topic partition offset].freeze

        class << self
          def declare(catalogue)
            catalogue.event("dead_letter_queue.dispatched", "A record was put into the dead letters: the broker has " \
              "acknowledged it, and only now its offset may move (`dispatch_to_dlq` with `:produce_async`: the producer has " \
              "taken it). `message` is the record, `omitted` what was left out of its letter, which was too large.",
              *RECORD, :attempt, :message, :to, :error, optional: [:omitted])
            catalogue.event("retry_topic.dispatched", "A record that failed goes on in the next retry topic, acknowledged " \
              "by the broker.", *RECORD, :attempt, :message, :to, :error)
            catalogue.event("consumer.skipped", "A record that failed for good was skipped, because the route or its " \
              "strategy says so.", *RECORD, :attempt, :error)
            catalogue.event("breaker.opened", "So many different records of a topic failed alike that it looks like an " \
              "outage: the topic waits, one record at a time is tried.", *RECORD, :error, :count, :timeout)
            catalogue.event("consumer.suspected", "A partition's last owners ended without a word, twice in a row: from " \
              "`offset` on, records that were there run one by one, in case one of them kills the process.", *RECORD,
              :unclean)
            catalogue.event("consumer.quarantined", "The process died several times while this record was the only one to " \
              "run: it isn't run again, but put away as the route says.", *RECORD, :crashes)
            catalogue.event("breaker.closed", "A record of the topic succeeded: all of it goes on.", :topic)
          end
        end
      end
    end
  end
end
