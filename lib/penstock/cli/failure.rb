# frozen_string_literal: true

require_relative "../errors"
require_relative "../printable"
require_relative "exit_codes"

module Penstock
  module CLI
    # Turns what a command raised into lines on the error stream and an exit code. Mistakes a user can mend (options,
    # configuration, a missing file, an answer of Kafka) come without a backtrace; everything else is a defect, in the
    # application or here, and comes with one.
    class Failure
      # Set it to see the backtrace of every error.
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
        # Whoever read our output (`| head`) has seen enough.
        when Errno::EPIPE then ExitCodes::OK
        else
          print_error
          ExitCodes::FAILED
        end
      end

      private

      def print_error
        text = (mendable? && !@context.env[BACKTRACE]) ? "penstock: #{message}" : whole
        @context.stderr.puts(Printable.lines(text))
      end

      def mendable?
        @error.is_a?(Usage) || (@error.is_a?(Error) && !@error.is_a?(InternalError))
      end

      # Of lines: a configuration has a line for each of its problems.
      def message = Printable.lines(@error.message).strip

      def whole
        @error.full_message(highlight: false)
      rescue # a class of the application's, whose message fails
        [Printable.error(@error), *@error.backtrace].join("\n")
      end
    end

    # The command line was used in a way that makes no sense: an unknown option, a missing argument.
    class Usage < StandardError
      include Error
    end
  end
end
