# frozen_string_literal: true

require_relative "../errors"
require_relative "../printable"
require_relative "../instrumentation/connection_diagnosis"
require_relative "../instrumentation/kafka_hints"
require_relative "exit_codes"

module Penstock
  module CLI
    # Turns the error of a command into lines on the error stream and an exit code. Errors that a user can fix (options,
    # configuration, a missing file, an error from Kafka) are printed without a backtrace; all others are defects, in
    # the application or in Penstock, and are printed with one.
    class Failure
      # Environment variable that prints the backtrace of every error.
      BACKTRACE = "PENSTOCK_BACKTRACE"

      def initialize(error, context)
        @error = error
        @context = context
      end

      # @return [Integer] exit code
      def report
        case @error
        when SystemExit then @error.status
        when Interrupt then ExitCodes::INTERRUPTED
        # The reader of our output (`| head`) has closed it.
        when Errno::EPIPE then ExitCodes::OK
        else
          print_error
          ExitCodes::FAILED
        end
      end

      private

      def print_error
        flush_output
        text = (mendable? && !@context.env[BACKTRACE]) ? "penstock: #{message}" : whole
        @context.stderr.puts(Printable.lines(without_tabs(text)))
      end

      # So that both are in order where they go to one file. An error of this mustn't hide the one to print.
      def flush_output
        @context.stdout.flush
      rescue SystemCallError, IOError
        nil
      end

      # A backtrace is indented with tabs. Ruby 3.3 leaves bytes in it that aren't valid in the text's encoding.
      def without_tabs(text) = text.b.gsub(/^\t/, "  ").force_encoding(text.encoding)

      # Ruby's errors name the stream: a full disk, for example.
      def output_lost? = @error.is_a?(SystemCallError) && @error.message.end_with?("<STDOUT>")

      def mendable?
        @error.is_a?(Usage) || output_lost? || (@error.is_a?(Error) && !@error.is_a?(InternalError))
      end

      # Several lines: a configuration error has one for each of its problems.
      def message
        return "the output can't be written: #{@error.message[/\A[^@]+/].strip}" if output_lost?
        [Printable.lines(@error.message).strip, Instrumentation::KafkaHints.of(@error) || connection_hint].compact.join(". ")
      end

      # Without a step that failed there is only the fact that nobody answered.
      def connection_hint
        diagnosis = Instrumentation::ConnectionDiagnosis.of(@error)
        diagnosis.hint.sub(/\A./, &:upcase) if diagnosis && diagnosis.step != "Kafka"
      end

      def whole
        @error.full_message(highlight: false)
      rescue # the message of an application's error class fails
        [Printable.error(@error), *@error.backtrace].join("\n")
      end
    end

    # The command line was used in a way that makes no sense: an unknown option, a missing argument.
    class Usage < StandardError
      include Error
    end
  end
end
