# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # Ends a process whose parent is gone, whatever it does: the parent alone holds the writing end of a pipe, and a thread in C
    # reads the other one. Some time after the end of the stream it calls `_exit(3)`, also while Ruby's lock is held. See
    # `ext/penstock_core/core/death_pipe.h`. One a process.
    #
    # Defined in the extension: `arm(descriptor, grace_ms)`, `disarm`.
    module DeathPipe
      # Begins the watch, in a child, after the fork.
      # @param reader [IO] must stay open until {disarm}; it never blocks from now on
      # @param grace_ms [Integer] from the end of the stream to the end of the process
      # @return [void]
      def self.watch(reader, grace_ms:)
        @reader = reader
        arm(reader.fileno, grace_ms)
      end
    end
  end
end
