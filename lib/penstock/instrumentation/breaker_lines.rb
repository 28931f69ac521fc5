# frozen_string_literal: true

require_relative "../clock"
require_relative "lines"
require_relative "repeats"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about breakers. If a breaker opens and closes many times a minute, because about
    # half of a topic's records are bad, it gets a line at first and then one every 30 s.
    module BreakerLines
      def on_breaker_opened(event)
        times = breaker_repeats.count(event[:topics], breaker_now) or return (@breakers_quiet ||= {})[event[:topics]] = true
        @breakers_quiet&.delete(event[:topics])
        @log.error(event) { "#{held(event)}#{" (it opened #{times} times since the last line)" if times > 1}" }
      end

      def on_breaker_closed(event)
        return if @breakers_quiet&.delete(event[:topics])
        @log.warn(event) { released(event) }
      end

      private

      def breaker_repeats = @breaker_repeats ||= Repeats.new
      def breaker_now = Clock::SYSTEM.monotonic_ms

      # Why the topics are held, until when, what is suspended meanwhile, and how to end the hold.
      def held(event, now = Time.now)
        count = event[:of] ? "#{event[:count]} of #{event[:of]} records" : "#{event[:count]} records in a row"
        ends = ", at the latest until #{(now + (event[:limit] / 1_000.0)).strftime("%H:%M:%S")}" if event[:limit]
        "#{event[:topic]}: the breaker opened: #{count} failed with #{errors(event)}, which looks like an outage " \
          "(the last: #{Lines.record(event)}, #{Lines.failure(event)}). This process holds #{Lines.list(event[:topics])} " \
          "until a record succeeds#{ends}, and tries one record at a time. Meanwhile nothing is dead-lettered and no attempt " \
          "counts. `penstock breaker close --pid #{::Process.pid}` ends it now, `breaker false` in the route turns breakers " \
          "off permanently"
      end

      # The cause is the name of a class, or "an outage" if the errors have only that in common.
      def errors(event) = (event[:cause] == "an outage") ? "connection errors" : event[:cause]

      def released(event)
        topics = Lines.list(event[:topics])
        held = Lines.duration(event[:held_ms])
        closed = "#{event[:topic]}: the breaker closed"
        return "#{closed}: a record succeeded, #{topics} continues after #{held}" if event[:reason] == :success
        why = (event[:reason] == :limit) ? "no record succeeded for #{held}" : "the hold was ended by a command after #{held}"
        "#{closed}: #{why}. #{topics} continues: until a record succeeds, those that fail with #{errors(event)} are " \
          "retried and dead-lettered as usual"
      end
    end
  end
end
