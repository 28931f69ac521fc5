# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Ends a process when its parent dies, even if the process is busy or stuck: only the parent holds the write end of a pipe,
    # and a C thread reads the other end. At the end of the stream it waits for the grace time and calls `_exit(3)`, even while
    # Ruby's lock is held. See `ext/penstock_core/core/death_pipe.h`. At most one per process.
    #
    # Defined in the extension: `arm(descriptor, grace_ms)`, `disarm`.
    module DeathPipe
      # Starts the watch, in a child, after the fork.
      # @param reader [IO] must stay open until {disarm}; switched to non-blocking mode
      # @param grace_ms [Integer] from the end of the stream to the end of the process
      # @return [void]
      def self.watch(reader, grace_ms:)
        @reader = reader
        arm(reader.fileno, grace_ms)
      end
    end
  end
end
