# frozen_string_literal: true

require_relative "errors"
require_relative "cli/context"
require_relative "cli/exit_codes"
require_relative "cli/failure"
require_relative "cli/registry"

module Penstock
  # The command line. {start} is the whole of it: it finds the command, runs it, turns what it raised into lines a reader
  # can act on, and answers the exit code; only `exe/penstock` calls `exit`.
  #
  # Start-up is kept tiny: the files of the commands are read (one a command, each registers itself), but no application,
  # no native extension and no standard library beyond `optparse` is loaded before the command itself asks for it.
  module CLI
    class << self
      # @param argv [Array<String>] what was typed after `penstock`; left as it is
      # @param context [Context] streams, environment and folder the command works with
      # @return [Integer] exit code, see {ExitCodes}
      def start(argv, context = Context.system)
        command, arguments = registry.resolve(argv)
        code = command.new(context).run(arguments)
        code.is_a?(Integer) ? code : ExitCodes::OK
      rescue Interrupt, SystemExit, StandardError, ScriptError => error
        Failure.new(error, context).report
      end

      # @return [Registry] all commands, those of `cli/commands` loaded
      def registry
        require_relative "cli/commands"
        Registry.shared
      end
    end
  end
end
