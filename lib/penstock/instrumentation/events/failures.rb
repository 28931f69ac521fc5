# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of records that fail permanently.
      module Failures
        TITLE = "Records that fail"
        RECORD = %i[topic partition offset].freeze

        class << self
          def declare(catalogue)
            catalogue.event("dead_letter_queue.dispatched", "A record was sent to the dead letter topic: the broker has " \
              "acknowledged the letter, and only now the record's offset may be committed (`dispatch_to_dlq` with " \
              "`:produce_async`: the producer has accepted it). `message` is the record, `omitted` lists the parts left out " \
              "of a letter that was too large.",
              *RECORD, :attempt, :message, :to, :error, optional: [:omitted])
            catalogue.event("retry_topic.dispatched", "A failed record was sent to the next retry topic, acknowledged " \
              "by the broker.", *RECORD, :attempt, :message, :to, :error)
            catalogue.event("consumer.skipped", "A record that failed permanently was skipped, because the route or its " \
              "strategy requires it.", *RECORD, :attempt, :error)
            catalogue.event("breaker.opened", "A topic's fresh records failed alike (`count` of `of`; `of` is nil if all " \
              "had errors of an outage, and no record succeeded at its first attempt in between), which looks like an outage: " \
              "`topics` are held in this process, none of their records is dead-lettered, one record at a time is tried. " \
              "`cause` is what the errors have in common; `limit` is the longest time in ms, nil if only a success ends it.",
              *RECORD, :error, :count, :of, :topics, :cause, :limit, optional: %i[ended_by])
            catalogue.event("consumer.suspected", "At least two successive owners of a partition ended uncleanly: in case a " \
              "record kills the process, the available records from `offset` on run in small batches that are committed before " \
              "they start, and records that were in progress when it died run one at a time.", *RECORD, :unclean)
            catalogue.event("consumer.quarantined", "The process died several times while it ran only this " \
              "record: it isn't run again, but dead-lettered or skipped, as the route specifies.", *RECORD, :crashes)
            catalogue.event("breaker.closed", "The hold has ended: a record succeeded (`reason` is `:success`), it has " \
              "lasted for the longest time (`:limit`), or a command ended it (`:command`). After the latter two, records " \
              "are retried and dead-lettered as usual.", :topic, :topics, :reason, :cause, :held_ms)
          end
        end
      end
    end
  end
end
