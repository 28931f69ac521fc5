# frozen_string_literal: true

require_relative "../errors"
require_relative "core"

module Penstock
  module Native
    # Tracks which records of one owned partition are complete: `base` is the lowest incomplete offset, `tail` the end of what
    # was admitted. See `ext/penstock_core/core/ledger.h`; tests compare it with a second, plain implementation in
    # `test/support/reference_ledger.rb`. Belongs to the lane's poll loop: other threads only read figures for logs and dumps.
    #
    # Defined in the extension:
    #
    # * `new(base = nil)`, `reset(base)`: nil if the partition's position is unknown. Drops everything else.
    # * `base`, `tail` (nil while unknown), `known?`, `dry?`, `incomplete` (count), `span`, `version` (grows whenever the
    #   content of a commit may have changed)
    # * `admit(from, to, offsets = nil)`, `admit_batch(from, to, batch)`: the records of the span (all of it, these offsets,
    #   or those of an object with `size` and `offset(index)`). → nil, or the positions of the records that are complete
    #   already. Raises {LaneDiscontinuity} unless the span begins at the tail; ArgumentError if the offsets don't ascend
    #   within it.
    # * `complete(offset)` → whether it was incomplete; `complete_many(offsets)` → how many were; `complete_through(offset)` →
    #   whether the base moved
    # * `complete?(offset)`, `first_incomplete`, `incomplete_offsets(limit = nil)`, `incomplete_between(from, to)` (not `to`)
    # * `ranges(limit = nil)` → complete runs above what may be committed, `[[from, to], …]`, `to` exclusive. A range without
    #   records (a gap of the log) isn't one.
    # * `restore(ranges)`: runs above the tail that an earlier owner completed. Records that are admitted there are complete.
    # * `committable`: the base; or, when nothing is incomplete and a restored run begins at the tail, that run's end
    # * `dup`: an independent copy
    # * `budget`, `budget=`: most bytes of a commit's envelope, up to {Envelope::MAX_BYTES}
    # * `map_bound(ceiling)`: see {#pressure}
    class Ledger
      # Bytes of an envelope that are always present, as text: magic and version, head, checksum.
      TEXT_PREFIX = 6
      FIXED_BYTES = 17
      SECTION_HEAD = 3
      # Most bytes for one record's attempts while their number is small: distance and count.
      ATTEMPT_BYTES = 3
      # Larger sizes needn't be exact.
      MOST = 8_192
      private_constant :TEXT_PREFIX, :FIXED_BYTES, :SECTION_HEAD, :ATTEMPT_BYTES, :MOST

      # How much of a commit's space may be needed for the completed offsets, if the records admitted so far complete in the
      # worst order: 1.0 is all of it. Admission stops at 0.75. Attempts don't count: they are written into what is left.
      #
      # @param user_bytes [Integer] of the user's own metadata
      # @return [Float] 0.0 when there is nothing to remember, however small the space
      def pressure(user_bytes: 0)
        needed = map_bytes
        return 0.0 if needed.zero?

        room = ((budget - TEXT_PREFIX) * 3 / 4) - FIXED_BYTES - (user_bytes.zero? ? 0 : SECTION_HEAD + user_bytes)
        room.positive? ? needed.fdiv(room) : Float::INFINITY
      end

      # On other threads it may be inexact: a take or an outcome may come in the meantime.
      # @param log_end [Integer, nil] offset after the last record of the log
      # @return [Integer, nil] records that aren't complete, also those that aren't admitted yet; nil: the end or the position is
      #   unknown
      def incomplete_below(log_end)
        tail = self.tail
        return unless log_end && tail
        restored = ranges.sum { |from, to| [to - [from, tail].max, 0].max }
        incomplete + [log_end - tail - restored, 0].max
      end

      # The most bytes that a commit's metadata may need, as text.
      # @param attempts [Integer]
      # @param user_bytes [Integer]
      # @return [Integer] not limited to the budget
      def encoded_size(attempts: 0, user_bytes: 0)
        user = user_bytes.zero? ? 0 : SECTION_HEAD + user_bytes
        counts = attempts.zero? ? 0 : SECTION_HEAD + (attempts * ATTEMPT_BYTES)
        TEXT_PREFIX + (((FIXED_BYTES + user + map_bytes + counts) * 4) + 2).div(3)
      end

      private

      def map_bytes
        map = map_bound(MOST)
        map.positive? ? map + SECTION_HEAD : 0
      end
    end
  end
end
