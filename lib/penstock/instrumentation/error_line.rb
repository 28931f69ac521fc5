# frozen_string_literal: true

require_relative "connection_diagnosis"
require_relative "events/errors"
require_relative "../printable"
require_relative "kafka_hints"
require_relative "lines"
require_relative "log/backtrace"

module Penstock
  module Instrumentation
    # Formats an `error.occurred`: where, what failed, what follows, why, and the backtrace below. Knows every type of the
    # catalogue, and shows an unknown type by its name. The error's message is one bounded line, and so is each line of its
    # backtrace, of which it shows at most {FRAMES}: the backtrace of a stack overflow has 10,000. Penstock's own frames are
    # left out where there are frames of the application.
    class ErrorLine
      # Types after which the process can't continue.
      FATAL = %w[runner.call.error app.stopping.error].freeze
      # Types of errors that usually resolve themselves.
      PASSING = %w[librdkafka.error connection.client.poll.error].freeze
      CLIENT = "librdkafka.error"
      # Types without a backtrace: only Penstock's own frames lead to them.
      WITHOUT_FRAMES = [*PASSING, "dead_letter_queue.dispatch.error"].freeze
      FRAMES = 100
      FRAME_BYTES = 500
      GROUP = %i[subscription_group_id consumer_group_id client].freeze
      FROZEN = "raw_payload, raw_key and raw_headers of a message are frozen; to change one, take a copy (raw_payload.dup)"
      UNREADABLE = "raw_payload, raw_key and raw_headers have the bytes as they are; for another format set `deserializer` in " \
        "the route"
      EXIT = "the status of `exit` isn't used: the process stops cleanly, with the exit code 0"
      # The head of a line about a request that will be refused until somebody changes something.
      REFUSED = "the cluster refused a client"
      CONTEXT = %i[offset seek_offset attempt producer_id subscription_group_id consumer_group_id client hook inside
        listener failures to omitted].freeze
      # Errors of calls of `consume`: their lines begin with what happened to the records.
      CALLS = {"consumer.consume.error" => "consume failed", "consumer.critical.error" => "consume raised an error that stops " \
        "the process"}.freeze
      # The consequences, by the payload's `next`.
      FOLLOWS = {
        retry: ->(event) { "tried again#{" in #{Lines.rounded(event[:retry_in_ms])}" if event[:retry_in_ms]}" },
        strategy: ->(_event) { "its strategy decides what follows" },
        retry_topic: ->(event) { "goes to #{event[:to]}" },
        dead_letter: ->(event) { "goes to the dead letters in #{event[:to]}" },
        skip: ->(_event) { "skipped" },
        held: ->(event) { "tried again until the breaker of #{event[:topic]} closes" },
        again: ->(_event) { "tried again, no attempt counts" },
        next_owner: ->(_event) { "its partition was revoked: the next owner runs it" },
        stop: ->(_event) { "the next owner of its partition runs it" }
      }.freeze
      private_constant :CALLS, :FOLLOWS

      # @param event [Event]
      # @param full [Boolean] whether the backtrace has Penstock's own frames
      def initialize(event, full: false)
        @event = event
        @error = event[:error]
        @full = full
      end

      # @return [Object] equal for the same error: class, place and message, except for numbers in it
      def kind
        return [@event[:type], Printable.line(@error, Lines::FAILURE_BYTES)] unless @error.is_a?(Exception)

        [@event[:type], @error.class, Printable.message(@error, Lines::FAILURE_BYTES).gsub(/\d+/, ""), @error.backtrace&.first]
      end

      # @return [Symbol] level of the logger
      def level
        return :fatal if FATAL.include?(@event[:type])
        return :warn if PASSING.include?(@event[:type]) && !(@error.respond_to?(:fatal?) && @error.fatal?)

        :error
      end

      # @return [String]
      def to_s
        head = [place, *(trouble || failed_call || [what + follows, cause, hint])].compact.join(": ")
        [CALLS.key?(@event[:type]) ? head : head + context, *held, *backtrace].join("\n")
      end

      private

      def place
        return Lines.lane(@event) if @event[:topic] && @event[:partition]
        return message_topic if @event[:message].is_a?(Hash)

        Lines.group(@event) if @event[:type] == CLIENT && @event[:subscription_group]
      end

      # The topic of a message that a producer refused.
      def message_topic
        topic = @event[:message][:topic]
        Printable.line(topic, FRAME_BYTES) if topic
      end

      # The client retries a failed connection; the reader needs the step and what to check.
      def trouble
        return unless @event[:type] == CLIENT

        known = ConnectionDiagnosis.of(@error) or return
        again = " (#{@event[:repeated]} times since the last line)" if @event[:repeated].to_i > 1
        ["#{Printable.line(known)} Retried until it succeeds#{again}"]
      end

      # "consume failed at offset 207 of 200..299, attempt 2 of 4; tried again in 4 s"
      def failed_call
        text = CALLS[@event[:type]] or return
        [[text + at, attempt].compact.join(", ") + follows, cause, hint]
      end

      def at
        offset, first, last = %i[offset first_offset last_offset].map { |key| @event[key] }
        return offset ? " at offset #{offset}" : "" unless first
        return " at offset #{first}" if first == last

        offset ? " at offset #{offset} of #{first}..#{last}" : " in offsets #{first}..#{last}"
      end

      def attempt
        return unless @event[:attempt]

        count, most = @event[:attempt], @event[:attempts]
        return "attempt #{count}" unless most

        # Attempts of earlier processes count, too.
        (count.to_i > most.to_i) ? "attempt #{count} (limit #{most})" : "attempt #{count} of #{most}"
      end

      def follows
        text = FOLLOWS[@event[:next]]&.call(@event)
        text ||= FOLLOWS[:retry].call(@event) if @event[:retry_in_ms]
        text ? "; #{Printable.line(text, FRAME_BYTES)}" : ""
      end

      def what
        return REFUSED if @event[:type] == CLIENT && KafkaHints.of(@error)

        Events::Errors::TYPES.fetch(@event[:type].to_s) { "error of the type #{@event[:type].inspect}" }
      end

      def cause = [Printable.error(@error), KafkaHints.of(@error, topic: written)].compact.join(". ")

      # @return [String, nil] the topic of a message that wasn't delivered
      def written
        case @event[:type]
        when "dead_letter_queue.dispatch.error" then Printable.line(@event[:to], FRAME_BYTES) if @event[:to]
        when "librdkafka.dispatch_error" then Printable.line(@event[:topic], FRAME_BYTES) if @event[:topic]
        else message_topic if @event[:message].is_a?(Hash)
        end
      end

      def hint
        frozen = [@error, (@error.cause if @error.is_a?(Exception))].any? { |error| error.is_a?(FrozenError) }
        return FROZEN if frozen && @event[:type].to_s.start_with?("consumer.")

        return UNREADABLE if @error.is_a?(DeserializationError)

        EXIT if @error.is_a?(SystemExit)
      end

      def context
        named = place ? GROUP : []
        keys = (CONTEXT - named).reject { |key| @event[key].nil? || (key == :offset && unknown_offset?) }
        known = keys.map { |key| "#{key} #{Printable.line(@event[key], FRAME_BYTES)}" }
        known << Lines.offsets(@event) if @event[:first_offset]
        known.empty? ? "" : " [#{known.join(", ")}]"
      end

      # A message that wasn't stored has the client's -1001 instead of an offset.
      def unknown_offset? = @event[:offset].is_a?(Integer) && @event[:offset].negative?

      # The jobs that kept a stop from ending, one per line.
      def held
        Array(@event[:jobs]).map { |job| "  still running: #{Printable.line(job, FRAME_BYTES)}" }
      end

      def backtrace
        return [] unless @error.is_a?(Exception) && @error.backtrace
        return [] if (@full ? PASSING : WITHOUT_FRAMES).include?(@event[:type])

        frames = @full ? @error.backtrace : Log::Backtrace.cut(@error.backtrace)
        shown = frames.first(FRAMES).map { |line| "  #{Printable.line(line, FRAME_BYTES)}" }
        (frames.size > FRAMES) ? [*shown, "  … #{frames.size - FRAMES} more"] : shown
      end
    end
  end
end
