# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of user code and of a partition's records. `caller` is the consumer.
      module Consumer
        TITLE = "Consumer"
        LANE = %i[topic partition].freeze
        BATCH = %i[topic partition first_offset last_offset messages_count attempt].freeze

        class << self
          def declare(catalogue)
            hooks(catalogue)
            flow(catalogue)
            offsets(catalogue)
            long(catalogue)
          end

          private

          def hooks(catalogue)
            catalogue.event("consumer.initialized", "A consumer was created.", *LANE, timed: true)
            catalogue.event("consumer.consume", "`consume` begins.", *BATCH)
            catalogue.event("consumer.consumed", "`consume` has ended without an error.", *BATCH, timed: true,
              optional: %i[lag])
            pair(catalogue, "revoke", "revoked", "`revoked`")
            pair(catalogue, "eof", "eofed", "`eofed`")
            pair(catalogue, "shutting_down", "shutdown", "`shutdown`")
            pair(catalogue, "tick", "ticked", "`tick`")
          end

          def pair(catalogue, before, after, hook)
            catalogue.event("consumer.#{before}", "#{hook} begins.", *LANE)
            catalogue.event("consumer.#{after}", "#{hook} has ended without an error.", *LANE, timed: true)
          end

          def flow(catalogue)
            catalogue.event("consumer.consuming.pause", "A partition is paused, by user code or before a retry. `offset` is " \
              "where it continues; after a seek of the same call also :earliest or :latest.", :manual,
              *LANE, :subscription_group, :offset, :timeout, :attempt)
            catalogue.event("consumer.consuming.retry", "Records are tried again after an error; `attempt` is the number of " \
              "the attempt that begins, `timeout` the back-off before it (0 after an earlier owner's attempt).",
              *LANE, :offset, :timeout, :attempt)
            catalogue.event("consumer.redelivery", "With manual offsets, after an error: messages of earlier calls are " \
              "delivered again, because they were not marked. `offset` is the first.", *LANE, :offset, :count)
            catalogue.event("consumer.consuming.transaction", "The block of a consumer's transaction has ended. `outcome`: " \
              ":committed, :aborted, or :unknown and :lost while its result is being determined.", *LANE, :producer_id, :outcome)
            catalogue.event("consumer.consuming.seek", "A partition continues at another offset because user code requested " \
              "it.", *LANE, :message, :manual_seek, :reset_offset)
          end

          def offsets(catalogue)
            catalogue.event("consumer.offset_reset", "The log of a partition went backwards or lost its beginning: it was " \
              "re-created or truncated, or retention deleted unread records. The ledger starts empty.", *LANE, :old_offset,
              :new_offset, :count, :reason)
            catalogue.event("consumer.discontinuity", "A take didn't begin where the previous one ended. The partition seeks " \
              "back, nothing is lost.", *LANE, :expected, :actual)
            catalogue.event("consumer.unfinished", "`consume` ended without an error although user code left `each` early. " \
              "All records of the batch count as consumed.", *LANE, :first_offset, :last_offset, :stopped_at)
            commits(catalogue)
          end

          def commits(catalogue)
            catalogue.event("offsets.committed", "A group has committed offsets.", :subscription_group_id, :offsets)
            catalogue.event("offsets.commit_retried", "A commit was refused temporarily and is retried.",
              :subscription_group_id, :offsets, :error)
            catalogue.event("offsets.metadata_ignored", "The metadata of a committed offset isn't Penstock's or doesn't " \
              "belong to it, in two answers alike. It is ignored: records beyond the offset may be processed again.",
              *LANE, :offset, :reason)
            catalogue.event("offsets.metadata_reduced", "The metadata of an offset is too large, or was refused because " \
              "of its size: the offset is committed without the ledger, or without the user's part.", *LANE, :bytes)
            catalogue.event("offsets.reopened", "The result of a transaction that carried the offset is unknown, the member " \
              "id has changed, or the partition began elsewhere because an answer was damaged on the way. It continues at the " \
              "group's committed offset, which was read again; units that ran meanwhile no longer count.",
              *LANE, :old_offset, :offset)
            catalogue.event("offsets.unavailable", "The committed offset of an assigned partition can't be read: after " \
              "10 s, then every 30 s. The partition isn't processed until it can be read; the request is repeated.", *LANE,
              :waited_ms, :reason)
          end

          def long(catalogue)
            catalogue.event("consumer.long_running", "A unit runs longer than `max.poll.interval.ms`. The process stays " \
              "in its group; check what the unit does.", *LANE, :first_offset, :last_offset, :waited_ms)
            catalogue.event("consumer.time_limit", "A call of `consume` takes longer than its route's `time_limit`: " \
              "`Penstock::TimeLimitExceeded` is raised in it. `backtrace` shows where it is.", *LANE, :first_offset,
              :last_offset, :limit, :waited_ms, :backtrace)
            catalogue.event("partition.starved", "Records of a partition have waited over 5 seconds for a worker, and " \
              "none of it has been run meanwhile.", *LANE,
              :waited_ms)
            catalogue.event("consumer.unmarked", "With manual offsets, calls of `consume` have ended, and none of their " \
              "records was marked for 5 minutes: nothing is committed. Once per topic and connection.", *LANE, :offset,
              :waited_ms, :place)
            catalogue.event("partition.window_full", "With keys in parallel, a partition has taken no records for 30 " \
              "seconds: those it has run or are retried and fill its window (`reason` is `records` or `bytes`), or what is " \
              "complete beyond its offset may outgrow the metadata of a commit (`metadata`), or, with manual offsets, a record " \
              "whose unit has ended isn't marked (`unmarked`). With `throttle per: :key`, keys that have used up their limit " \
              "fill most of the window (`throttle`). `offset` is the first incomplete record, `count` how many there are.",
              *LANE, :offset, :count, :reason, :waited_ms)
          end
        end
      end
    end
  end
end
