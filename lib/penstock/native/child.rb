# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # A child process as its parent sees it: a signal reaches this child or nobody, never a later process with the same process
    # id. See `ext/penstock_core/core/child.h`. Used by the one thread that watches the child; stays valid after the child has
    # ended.
    #
    # Defined in the extension: `new(pid)`, `pid`, `reap` → nil while the child lives, else `[exit code, signal]`, of which one
    # is nil (both, when other code waited for the child). It never blocks.
    class Child
      # @param code [Integer, nil]
      # @param signal [Integer, nil]
      # @return [String] how it ended
      def self.words(code, signal)
        return "exit code #{code}" if code
        signal ? "SIG#{::Signal.signame(signal)}" : "other code waited for it"
      end

      # @return [Boolean] false once the child was seen to have ended
      def alive? = reap.nil?

      # @param name [String, Symbol] `"TERM"`
      # @return [Boolean] whether there was a child to receive it
      # @raise [SystemCallError] the kernel doesn't allow it
      def signal(name) = send_signal(::Signal.list.fetch(name.to_s))

      # @return [IO, nil] becomes readable when the child has ended, for `IO.select`; nil where there are no pidfds: there
      #   SIGCHLD has to wake the waiting thread
      def io
        return @io if @io || descriptor.nil?
        @io = IO.for_fd(descriptor, autoclose: false)
      end

      # Closes the descriptor; the child keeps running.
      # @return [void]
      def close
        @io = nil
        close_descriptor
      end
    end
  end
end
