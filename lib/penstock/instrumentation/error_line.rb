# frozen_string_literal: true

require_relative "connection_diagnosis"
require_relative "events/errors"
require_relative "../printable"
require_relative "lines"

module Penstock
  module Instrumentation
    # Formats an `error.occurred`: what failed, where, why, and the backtrace below. Knows every type of the catalogue,
    # and shows an unknown type by its name. The error's message is one bounded line, and so is each line of its
    # backtrace, of which it shows at most {FRAMES}: the backtrace of a stack overflow has 10,000.
    class ErrorLine
      # Types after which the process can't continue.
      FATAL = %w[runner.call.error app.stopping.error].freeze
      # Types of errors that usually resolve themselves.
      PASSING = %w[librdkafka.error connection.client.poll.error].freeze
      CLIENT = "librdkafka.error"
      FRAMES = 100
      FRAME_BYTES = 500
      GROUP = %i[subscription_group_id consumer_group_id client].freeze
      FROZEN = "raw_payload, raw_key and raw_headers of a message are frozen; to change one, take a copy (raw_payload.dup)"
      CONTEXT = %i[offset seek_offset attempt producer_id subscription_group_id consumer_group_id client hook inside
        listener failures to omitted].freeze

      # @param event [Event]
      def initialize(event)
        @event = event
        @error = event[:error]
      end

      # @return [Symbol] level of the logger
      def level
        return :fatal if FATAL.include?(@event[:type])
        return :warn if PASSING.include?(@event[:type]) && !(@error.respond_to?(:fatal?) && @error.fatal?)

        :error
      end

      # @return [String]
      def to_s
        head = [place, *(trouble || [what, cause, hint])].compact.join(": ")
        [head + context, *held, *backtrace].join("\n")
      end

      private

      def place
        return Lines.lane(@event) if @event[:topic] && @event[:partition]

        Lines.group(@event) if @event[:type] == CLIENT && @event[:subscription_group]
      end

      # The client retries a failed connection; the reader needs the step and what to check.
      def trouble
        return unless @event[:type] == CLIENT

        known = ConnectionDiagnosis.of(@error) or return
        again = " (#{@event[:repeated]} times since the last line)" if @event[:repeated].to_i > 1
        ["#{Printable.line(known)} Retried until it succeeds#{again}"]
      end

      def what
        Events::Errors::TYPES.fetch(@event[:type].to_s) { "error of the type #{@event[:type].inspect}" }
      end

      def cause = Printable.error(@error)

      def hint
        frozen = [@error, (@error.cause if @error.is_a?(Exception))].any? { |error| error.is_a?(FrozenError) }
        FROZEN if frozen && @event[:type].to_s.start_with?("consumer.")
      end

      def context
        named = place ? GROUP : []
        keys = (CONTEXT - named).reject { |key| @event[key].nil? }
        known = keys.map { |key| "#{key} #{Printable.line(@event[key], FRAME_BYTES)}" }
        known << Lines.offsets(@event) if @event[:first_offset]
        known.empty? ? "" : " [#{known.join(", ")}]"
      end

      # The jobs that kept a stop from ending, one per line.
      def held
        Array(@event[:jobs]).map { |job| "  still running: #{Printable.line(job, FRAME_BYTES)}" }
      end

      def backtrace
        return [] unless @error.is_a?(Exception) && @error.backtrace && !PASSING.include?(@event[:type])

        frames = @error.backtrace
        shown = frames.first(FRAMES).map { |line| "  #{Printable.line(line, FRAME_BYTES)}" }
        (frames.size > FRAMES) ? [*shown, "  … #{frames.size - FRAMES} more"] : shown
      end
    end
  end
end
