# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module CLI
    # Loads the user's application for a command that needs it.
    class Boot
      # @param context [Context]
      def initialize(context)
        @context = context
        require_relative "boot_file"
        @file = BootFile.new(env: context.env, dir: context.dir)
      end

      # @return [String, nil] absolute path of the boot file; nil when the application boots itself
      def path
        @file.path
      end

      # @return [Application] the one that the boot file defines
      # @raise [MissingBootFileError]
      # @raise [ConfigurationError] the file defines none, or one that can't be used
      def application
        path = @file.path
        require_relative "../../penstock"

        # Code of the application may ask whether it runs under the command line.
        @context.env["PENSTOCK_CLI"] = "true"
        @file.load
        Penstock.app || raise(ConfigurationError.new([Problem.new(path || "the application",
          "defines no application", "Write `class PenstockApp < Penstock::App`, with `setup` and `routes.draw`")]))
      end
    end
  end
end
