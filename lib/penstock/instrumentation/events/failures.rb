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
            catalogue.event("breaker.opened", "So many fresh records of a topic failed alike (`count` of `of`; `of` is nil " \
              "where all of them had errors of an outage, without a success in between) that it looks like an outage: `topics` " \
              "are held in this process, nothing of them is dead-lettered, one record at a time is tried. `cause` is what the " \
              "errors have in common; `limit` is how many ms it lasts at most, nil where only a success ends it.", *RECORD,
              :error, :count, :of, :topics, :cause, :limit)
            catalogue.event("consumer.suspected", "A partition's last owners ended without a word, twice in a row: in case a " \
              "record kills the process, those that are there from `offset` on run in small groups that are committed before " \
              "they start, and those that were under way when it died run one by one.", *RECORD, :unclean)
            catalogue.event("consumer.quarantined", "The process died several times while this record was the only one to " \
              "run: it isn't run again, but put away as the route says.", *RECORD, :crashes)
            catalogue.event("breaker.closed", "The hold has ended: a record succeeded (`reason` is `:success`), it lasted as " \
              "long as it may (`:limit`), or somebody ended it (`:command`). After the latter two records are retried and " \
              "dead-lettered as usual.", :topic, :topics, :reason, :cause, :held_ms)
          end
        end
      end
    end
  end
end
