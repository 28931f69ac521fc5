# frozen_string_literal: true

module Penstock
  module CLI
    # Exit codes of `penstock`. Every `--help` prints the list.
    module ExitCodes
      # Done, or stopped cleanly.
      OK = 0
      # Wrong usage, no boot file, an invalid configuration, or the command failed.
      FAILED = 1
      # The server was stopped by force: jobs were still running when the shutdown timeout ended.
      FORCED = 2
      # A node of a swarm whose supervisor is gone.
      ORPHANED = 3
      # A swarm whose nodes can't be started.
      UNBOOTABLE = 4
      # An internal error of the server's poll loop.
      INTERNAL = 70
      # Ctrl-C in a command that ends by itself; those that run until stopped end with 0.
      INTERRUPTED = 130

      # Shown by `--help`.
      MEANINGS = {
        OK => "done, or stopped cleanly",
        FAILED => "wrong usage, boot file or configuration; or the command failed",
        FORCED => "server: stopped by force while jobs were running",
        ORPHANED => "node of a swarm: its supervisor is gone",
        UNBOOTABLE => "swarm: a node could not be started",
        INTERNAL => "server: internal error",
        INTERRUPTED => "interrupted by Ctrl-C"
      }.freeze

      # @return [String] one line per code
      def self.to_s
        MEANINGS.map { |code, meaning| format("  %3d  %s", code, meaning) }.join("\n")
      end
    end
  end
end
