# frozen_string_literal: true

module Penstock
  module Outbox
    # Remembers topics to which nothing can be sent for now: they are missing, or access is forbidden. Each row tried there
    # would delay its turn until the client times out. Belongs to the relay's thread; lost when the process ends.
    class ClosedTopics
      Closed = Struct.new(:error, :failures, :until_ms)

      # @param settings [Settings]
      # @param clock [Clock]
      def initialize(settings, clock)
        @settings = settings
        @clock = clock
        @closed = {}
      end

      # @return [Exception, nil] why it is closed; nil when it may be tried
      def error(topic)
        closed = @closed[topic]
        closed.error if closed && @clock.monotonic_ms < closed.until_ms
      end

      # Rows that were sent at the same time fail at the same time: that counts once.
      def close(topic, error)
        return if error(topic)

        failures = (@closed[topic]&.failures || 0) + 1
        @closed[topic] = Closed.new(error, failures, @clock.monotonic_ms + @settings.backoff_ms(failures))
      end

      # @return [Integer] milliseconds until it is tried again
      def remaining_ms(topic)
        closed = @closed[topic]
        closed ? [closed.until_ms - @clock.monotonic_ms, 0].max : 0
      end

      # Called when something was delivered to the topic.
      def open(topic) = @closed.delete(topic)
    end
  end
end
