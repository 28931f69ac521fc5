# frozen_string_literal: true

module Penstock
  module Runtime
    # Keeps a client's errors readable: the library says "broker is down" several times a second as long as it is. The first of a
    # kind is told at once, its repetitions once in `every_ms`, with their number. Used by one thread.
    class Repeats
      EVERY_MS = 30_000
      Known = Struct.new(:told_at, :unsaid)
      private_constant :Known

      # @param every_ms [Integer]
      def initialize(every_ms = EVERY_MS)
        @every_ms = every_ms
        @known = {}
      end

      # @param kind [Object] what makes two errors the same
      # @param now [Integer] monotonic ms
      # @return [Integer, nil] how often it happened since it was told, this time included; nil: not to be told now
      def tell(kind, now)
        known = @known[kind] ||= Known.new(nil, 0)
        known.unsaid += 1
        return if known.told_at && now - known.told_at < @every_ms
        known.told_at = now
        count, known.unsaid = known.unsaid, 0
        count
      end
    end
  end
end
