# frozen_string_literal: true

require "rbconfig"

module Penstock
  module DocsTest
    # Runs one shell example in its own process group, in the page's folder, with `penstock` in the path.
    class ShellExample
      ROOT = File.expand_path("../../..", __dir__)
      # `trap : TERM` makes bash wait for the command that is being stopped, and end with its code.
      OPENING = "set -eu; trap : TERM\n"
      COMMANDS = {
        "penstock" => "exec #{RbConfig.ruby} -I#{ROOT}/lib #{ROOT}/exe/penstock \"$@\"",
        "ruby" => "exec #{RbConfig.ruby} -I#{ROOT}/lib \"$@\""
      }.freeze

      # @param folder [String] created when it doesn't exist
      # @return [String] for PATH
      def self.commands_in(folder)
        Dir.mkdir(folder)
        COMMANDS.each do |name, text|
          File.write(File.join(folder, name), "#!/bin/sh\n#{text}\n", perm: 0o755)
        end
        folder
      end

      def initialize(example, code)
        @example = example
        @code = code
      end

      # @return [Integer] pid
      def start(folder, output)
        script = [OPENING, *@example.all("before"), @code, *@example.all("after")].join("\n")
        ::Process.spawn("bash", "-c", script, chdir: folder, out: output, err: output, pgroup: true)
      end
    end
  end
end
