# frozen_string_literal: true

module Penstock
  module CLI
    # The environment of a command: its streams, environment variables and working folder. Passed in, so that tests run
    # commands without touching the process's own.
    Context = Struct.new(:stdin, :stdout, :stderr, :env, :dir, keyword_init: true) do
      # @return [Context] the context of this process
      def self.system
        new(stdin: $stdin, stdout: $stdout, stderr: $stderr, env: ENV, dir: folder)
      end

      # A folder that was deleted has no path any more: then what the shell calls it, which is still good for messages.
      # @return [String] the current folder
      def self.folder
        Dir.pwd
      rescue SystemCallError
        ENV.fetch("PWD", "/")
      end
      private_class_method :folder

      # @return [Boolean] a person reads the output, so colours and redrawn lines make sense
      def terminal?
        stdout.respond_to?(:tty?) && stdout.tty? && !env["NO_COLOR"]
      end
    end
  end
end
