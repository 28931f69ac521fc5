# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # User code and what happens to the records of a partition. `caller` is the consumer.
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
            catalogue.event("consumer.initialized", "A consumer was made.", *LANE, timed: true)
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
            catalogue.event("consumer.consuming.pause", "A partition is paused, by user code or before a retry.", :manual,
              *LANE, :subscription_group, :offset, :timeout, :attempt)
            catalogue.event("consumer.consuming.retry", "Records are tried again after an error; `attempt` is the one that " \
              "begins.", *LANE, :offset, :timeout, :attempt)
            catalogue.event("consumer.redelivery", "With manual offsets, after an error: messages of earlier calls come again, " \
              "because they were never marked. `offset` is the first.", *LANE, :offset, :count)
            catalogue.event("consumer.consuming.transaction", "The block of a consumer's transaction is done with. `outcome`: " \
              ":committed, :aborted, or :unknown and :lost: what became of it is being found out.", *LANE, :producer_id, :outcome)
            catalogue.event("consumer.consuming.seek", "A partition goes on at another offset because user code asked " \
              "for it.", *LANE, :message, :manual_seek, :reset_offset)
          end

          def offsets(catalogue)
            catalogue.event("consumer.offset_reset", "The log of a partition went backwards or lost its beginning: it was " \
              "made anew, cut, or retention deleted what wasn't read yet. The ledger starts empty.", *LANE, :old_offset,
              :new_offset, :count, :reason, optional: %i[lost_to_retention])
            catalogue.event("consumer.discontinuity", "A take didn't join the one before it. The partition is sought back, " \
              "nothing is lost.", *LANE, :expected, :actual)
            catalogue.event("consumer.unfinished", "`consume` ended without an error although `each` was left early. All " \
              "records of the batch count as consumed.", *LANE, :first_offset, :last_offset, :stopped_at)
            commits(catalogue)
          end

          def commits(catalogue)
            catalogue.event("offsets.committed", "A group has committed offsets.", :subscription_group_id, :offsets)
            catalogue.event("offsets.commit_retried", "A commit was refused for now and is made again.",
              :subscription_group_id, :offsets, :error)
            catalogue.event("offsets.metadata_ignored", "The metadata of a committed offset isn't ours or doesn't belong " \
              "to it. It is ignored: records beyond the offset may be processed again.", *LANE, :offset, :reason)
            catalogue.event("offsets.metadata_reduced", "The metadata of an offset have no room, or were refused because " \
              "of their size: it is committed without the ledger, or without the user's part.", *LANE, :bytes)
            catalogue.event("offsets.reopened", "Nobody could say what became of a transaction that carried the offset, or the " \
              "member is another than it was. The partition goes on where the group stands; what ran meanwhile counts no more.",
              *LANE, :old_offset, :offset)
            catalogue.event("offsets.unavailable", "The committed offset of an assigned partition can't be read: after " \
              "10 s, then every 30 s. Nothing of it is processed until it is read; the request is repeated.", *LANE,
              :waited_ms, :reason)
          end

          def long(catalogue)
            catalogue.event("consumer.long_running", "A unit runs longer than `max.poll.interval.ms`. The process stays " \
              "in its group; somebody should look.", *LANE, :first_offset, :last_offset, :waited_ms)
            catalogue.event("consumer.time_limit", "A call of `consume` takes longer than its route's `time_limit`: " \
              "`Penstock::TimeLimitExceeded` is raised in it. `backtrace` is where it stands.", *LANE, :first_offset,
              :last_offset, :limit, :waited_ms, :backtrace)
            catalogue.event("lane.waiting", "Records of a partition wait for a worker for over 5 seconds.", *LANE,
              :waited_ms)
            catalogue.event("lane.unmarked", "With manual offsets and keys side by side, a partition stands still for 30 " \
              "seconds because a record whose unit has ended isn't marked.", *LANE, :offset, :waited_ms)
          end
        end
      end
    end
  end
end
