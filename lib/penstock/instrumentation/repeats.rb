# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Limits repeated log lines: the library reports "broker is down" twenty times a second while it is down. The first
    # of a kind is reported at once, its repetitions once every `every_ms`, with their number. Any thread.
    class Repeats
      EVERY_MS = 30_000
      Known = Struct.new(:reported_at, :unreported)
      private_constant :Known

      # @return [Integer, nil] monotonic ms of the last report
      attr_reader :reported_at

      # @param every_ms [Integer]
      def initialize(every_ms = EVERY_MS)
        @every_ms = every_ms
        @known = {}
        @lock = Mutex.new
      end

      # @param kind [Object] equal for repetitions of the same thing
      # @param now [Integer] monotonic ms
      # @return [Integer, nil] how often it happened since the last report, this time included; nil: not to be reported
      #   now
      def count(kind, now)
        @lock.synchronize do
          known = @known[kind] ||= Known.new(nil, 0)
          known.unreported += 1
          next if known.reported_at && now - known.reported_at < @every_ms
          @reported_at = known.reported_at = now
          count, known.unreported = known.unreported, 0
          count
        end
      end

      # @return [Boolean] whether there was a report so recently that a second line about it is unnecessary
      def fresh?(now) = !@reported_at.nil? && now - @reported_at < @every_ms
    end
  end
end
