# frozen_string_literal: true

require_relative "../errors"
require_relative "core"

module Penstock
  module Native
    # What is done and what isn't in one owned partition: `base` is the lowest incomplete offset, `tail` the end of what was
    # admitted. See `ext/penstock_core/core/ledger.h`; a second, plain one that it is compared with lies in
    # `test/support/reference_ledger.rb`. Belongs to the lane's poll loop: no other thread calls it.
    #
    # Defined in the extension:
    #
    # * `new(base = nil)`, `reset(base)`: nil, where it isn't known where the partition stands. Everything else is dropped.
    # * `base`, `tail` (nil while unknown), `known?`, `dry?`, `incomplete` (count), `span`, `version` (grows whenever what a
    #   commit would say may have changed)
    # * `admit(from, to, offsets = nil)`, `admit_batch(from, to, batch)`: the records of the span (all of it, these, or those of
    #   something that answers `size` and `offset(index)`). → nil, or the positions of those that are complete already.
    #   Raises {LaneDiscontinuity} unless the span begins at the tail; ArgumentError for offsets that don't ascend within it.
    # * `complete(offset)` → whether it was incomplete; `complete_many(offsets)` → how many were; `complete_through(offset)` →
    #   whether the base moved
    # * `complete?(offset)`, `first_incomplete`, `incomplete_offsets(limit = nil)`, `incomplete_between(from, to)` (not `to`)
    # * `ranges(limit = nil)` → complete runs above what may be committed, `[[from, to], …]`, `to` exclusive. A stretch without
    #   a record (a gap of the log) is none.
    # * `restore(ranges)`: runs above the tail that a former owner completed. Records that turn up there are complete.
    # * `committable`: the base; or, when nothing is incomplete and a restored run begins at the tail, that run's end
    # * `dup`: another one that knows the same
    # * `budget`, `budget=`: bytes that the envelope of a commit may have, at most {Envelope::MAX_BYTES}
    # * `map_bound(ceiling)`: see {#pressure}
    class Ledger
      # Bytes of an envelope that are always there, as text: magic and version, head, checksum.
      TEXT_PREFIX = 6
      FIXED_BYTES = 17
      SECTION_HEAD = 3
      # What one record's attempts take at most as long as it has few of them: distance and count.
      ATTEMPT_BYTES = 3
      # Above it nobody needs to know how much it is.
      MOST = 8_192
      private_constant :TEXT_PREFIX, :FIXED_BYTES, :SECTION_HEAD, :ATTEMPT_BYTES, :MOST

      # How much of a commit's room what must be remembered may come to take, in whatever order the records admitted by now
      # complete: 1.0 is all of it. Admission stops at 0.75.
      #
      # @param attempts [Integer] records whose attempts are remembered
      # @param user_bytes [Integer] of the user's own metadata
      # @return [Float] 0.0 when there is nothing to remember, however small the room is
      def pressure(attempts: 0, user_bytes: 0)
        needed = needed_bytes(attempts)
        return 0.0 if needed.zero?

        room = ((budget - TEXT_PREFIX) * 3 / 4) - FIXED_BYTES - (user_bytes.zero? ? 0 : SECTION_HEAD + user_bytes)
        room.positive? ? needed.fdiv(room) : Float::INFINITY
      end

      # The most bytes that a commit's metadata may come to have, as text.
      # @param attempts [Integer]
      # @param user_bytes [Integer]
      # @return [Integer] not bounded by the budget
      def encoded_size(attempts: 0, user_bytes: 0)
        user = user_bytes.zero? ? 0 : SECTION_HEAD + user_bytes
        TEXT_PREFIX + (((FIXED_BYTES + user + needed_bytes(attempts)) * 4) + 2).div(3)
      end

      private

      def needed_bytes(attempts)
        map = map_bound(MOST)
        map += SECTION_HEAD if map.positive?
        map + (attempts.zero? ? 0 : SECTION_HEAD + (attempts * ATTEMPT_BYTES))
      end
    end
  end
end
