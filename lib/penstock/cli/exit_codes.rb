# frozen_string_literal: true

module Penstock
  module CLI
    # What `penstock` answers to its caller. Every `--help` prints the list.
    module ExitCodes
      # Done, or stopped cleanly.
      OK = 0
      # Wrong usage, no boot file, a configuration that can't be used, or the command failed.
      FAILED = 1
      # The server had to end by force: jobs still ran when its time to stop was over.
      FORCED = 2
      # A node of a swarm whose supervisor is gone.
      ORPHANED = 3
      # A swarm whose nodes can't be started.
      UNBOOTABLE = 4
      # An internal error of the server's loop.
      INTERNAL = 70
      # Ctrl-C in a command that ends by itself; those that run until stopped end with 0.
      INTERRUPTED = 130

      # Shown by `--help`.
      MEANINGS = {
        OK => "done, or stopped cleanly",
        FAILED => "wrong usage, boot file or configuration; or the command failed",
        FORCED => "server: stopped by force, jobs still ran",
        ORPHANED => "node of a swarm: its supervisor is gone",
        UNBOOTABLE => "swarm: a node could not be started",
        INTERNAL => "server: internal error",
        INTERRUPTED => "interrupted by Ctrl-C"
      }.freeze

      # @return [String] one line a code
      def self.to_s
        MEANINGS.map { |code, meaning| format("  %3d  %s", code, meaning) }.join("\n")
      end
    end
  end
end
