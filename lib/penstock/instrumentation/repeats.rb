# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Keeps what a client says readable: the library says "broker is down" twenty times a second as long as it is. The first of a
    # kind is told at once, its repetitions once in `every_ms`, with their number. Any thread.
    class Repeats
      EVERY_MS = 30_000
      Known = Struct.new(:told_at, :unsaid)
      private_constant :Known

      # @return [Integer, nil] monotonic ms of the last time something was told
      attr_reader :told_at

      # @param every_ms [Integer]
      def initialize(every_ms = EVERY_MS)
        @every_ms = every_ms
        @known = {}
        @lock = Mutex.new
      end

      # @param kind [Object] what makes two of them the same
      # @param now [Integer] monotonic ms
      # @return [Integer, nil] how often it happened since it was told, this time included; nil: not to be told now
      def tell(kind, now)
        @lock.synchronize do
          known = @known[kind] ||= Known.new(nil, 0)
          known.unsaid += 1
          next if known.told_at && now - known.told_at < @every_ms
          @told_at = known.told_at = now
          count, known.unsaid = known.unsaid, 0
          count
        end
      end

      # @return [Boolean] whether something was told so lately that a second line about it would be one too many
      def fresh?(now) = !@told_at.nil? && now - @told_at < @every_ms
    end
  end
end
