# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module CLI
    # Loads the user's application for a command that needs it.
    class Boot
      # The file whose signal handlers exit.
      SIGNALS = File.expand_path("../server/boot_signals.rb", __dir__)
      private_constant :SIGNALS

      # @param context [Context]
      def initialize(context)
        @context = context
        require_relative "boot_file"
        @file = BootFile.new(env: context.env, dir: context.dir)
      end

      # @return [String, nil] absolute path of the boot file; nil when the application has already booted itself
      def path
        @file.path
      end

      # @return [Application] the application that the boot file defines
      # @raise [MissingBootFileError]
      # @raise [ConfigurationError] the boot file defines no application, or an invalid one
      def application
        path = @file.path
        require_relative "../framework"

        # Application code can check this variable to find out whether the command line loaded it.
        @context.env["PENSTOCK_CLI"] = "true"
        load_file
        Penstock.app || raise(ConfigurationError.new([Problem.new(path || "the application",
          "defines no application", "Write `class PenstockApp < Penstock::App`, with `setup` and `routes.draw`")]))
      end

      private

      # Penstock's own errors have a message that needs no place.
      def load_file
        @file.load
      rescue StandardError, ScriptError, SystemStackError => error
        raise if error.is_a?(Error)

        require_relative "boot_error"
        raise BootError.new(error, @file.root)
      rescue SystemExit => error
        report_exit(error)
        raise
      end

      # `abort` has printed its message; an exit by a signal is requested from outside.
      def report_exit(error)
        return if error.message != "exit" || error.backtrace.to_a.first.to_s.start_with?(SIGNALS)

        require_relative "boot_error"
        @context.stderr.puts("penstock: #{BootError.new(error, @file.root).place}exit was called while the application was " \
          "loaded: nothing was started, the exit code is #{error.status}")
      end
    end
  end
end
