# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Admission
      # Reports records that retention deleted before they were read, as `consumer.offset_reset`. Decides nothing about delivery.
      # Stateless, on the lane's poll loop.
      #
      # Must be called before the take is admitted: afterwards its gaps count as complete.
      #
      # Whether a deleted offset had a record can't be read any more. So offsets without a record (markers, compaction) are
      # counted if they were deleted together with records; but not those that the source has passed before, up to an end of the
      # log, nor those that the lane, or a former owner, has completed.
      module LostRecords
        DELETED = "retention deleted records"
        TO_END = "retention deleted records, and auto.offset.reset continues at the log's end"
        private_constant :DELETED, :TO_END

        class << self
          # In a take deleted records can be missing before its first record. They are missing later in it if the source had
          # more records buffered: then between the records next to the low watermark.
          # @param lane [Lane]
          # @param batch [#size, #offset]
          # @param from [Integer] where the take should have begun
          # @param low [Integer, nil] the partition's known low watermark
          # @return [Array<Effect>]
          def in_take(lane, batch, from, low)
            return [] unless low && low > from
            at_low = (0...batch.size).bsearch { |index| batch.offset(index) >= low }
            [0, at_low].compact.uniq.flat_map do |index|
              between(lane, index.zero? ? from : batch.offset(index - 1) + 1, batch.offset(index), low)
            end
          end

          # @param lane [Lane]
          # @param from [Integer] where the next take should have begun
          # @param to [Integer] where the lane continues instead
          # @param low [Integer, nil] the partition's known low watermark
          # @return [Array<Effect>] empty if nothing was lost
          def between(lane, from, to, low)
            from = [from, lane.takes.highest_end || 0].max if from >= lane.ledger.tail
            return [] unless low && low > from && to > from
            skipped = lane.takes.resets_to_end && to > low
            count = unread(lane, from, skipped ? to : [low, to].min)
            return [] if count.zero?
            [Effect::Emit.new("consumer.offset_reset", {topic: lane.topic_name, partition: lane.partition,
              old_offset: from, new_offset: to, count: count, reason: skipped ? TO_END : DELETED})]
          end

          private

          def unread(lane, from, to)
            ledger = lane.ledger
            tail = ledger.tail
            admitted = (from < tail) ? ledger.incomplete_between(from, [to, tail].min).size : 0
            from = [from, tail, lane.takes.highest_end || 0].max
            admitted + [to - from, 0].max - completed(ledger, from, to)
          end

          # By a former owner, according to its commit.
          def completed(ledger, from, to)
            ledger.ranges.sum { |first, last| [[last, to].min - [first, from].max, 0].max }
          end
        end
      end
    end
  end
end
