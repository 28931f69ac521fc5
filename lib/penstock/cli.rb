# frozen_string_literal: true

require_relative "errors"
require_relative "cli/context"
require_relative "cli/exit_codes"
require_relative "cli/failure"
require_relative "cli/registry"

module Penstock
  # The command line. {start} is its only entry point: it finds the command, runs it, turns an error into lines that show what
  # to do, and returns the exit code; only `exe/penstock` calls `exit`.
  #
  # Start-up is kept small: the files of the commands are loaded (one per command, each registers itself), but no application,
  # no native extension and no standard library except `optparse` is loaded before the command itself requires it.
  module CLI
    class << self
      # @param argv [Array<String>] arguments after `penstock`; not modified
      # @param context [Context] streams, environment and folder the command works with
      # @return [Integer] exit code, see {ExitCodes}
      def start(argv, context = Context.system)
        command, arguments = registry.resolve(argv)
        code = command.new(context).run(arguments)
        flush(context, code.is_a?(Integer) ? code : ExitCodes::OK)
      rescue Interrupt, SystemExit, StandardError, ScriptError => error
        Failure.new(error, context).report
      end

      # @return [Registry] all commands, those of `cli/commands` loaded
      def registry
        require_relative "cli/commands"
        Registry.shared
      end

      private

      # Ruby ignores an error of the flush at its end: a full disk would go unnoticed.
      # @return [Integer] the code; that of a failure if the output of a command that succeeded can't be written
      def flush(context, code)
        context.stdout.flush
        code
      rescue Errno::EPIPE, IOError # nobody reads it; the application has closed it
        code
      rescue SystemCallError => error
        failed = Failure.new(error, context).report
        code.zero? ? failed : code
      end
    end
  end
end
