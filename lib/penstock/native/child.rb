# frozen_string_literal: true

require_relative "core"

module Penstock
  module Native
    # A child process as its parent knows it: a signal reaches this child or nobody, never whoever was given its number later. See
    # `ext/penstock_core/core/child.h`. Used by the one thread that looks after the child; outlives it.
    #
    # Defined in the extension: `new(pid)`, `pid`, `reap` → nil while the child lives, else `[exit code, signal]`, of which one
    # is nil (both, when somebody else waited for it). It never waits.
    class Child
      # @param code [Integer, nil]
      # @param signal [Integer, nil]
      # @return [String] how it ended
      def self.words(code, signal)
        return "exit code #{code}" if code
        signal ? "SIG#{::Signal.signame(signal)}" : "somebody else waited for it"
      end

      # @return [Boolean] false from when it was seen to have ended
      def alive? = reap.nil?

      # @param name [String, Symbol] `"TERM"`
      # @return [Boolean] whether there was a child to receive it
      # @raise [SystemCallError] the kernel doesn't allow it
      def signal(name) = send_signal(::Signal.list.fetch(name.to_s))

      # @return [IO, nil] readable when the child has ended, for `IO.select`; nil where there are no pidfds, then SIGCHLD has to
      #   wake who waits
      def io
        return @io if @io || descriptor.nil?
        @io = IO.for_fd(descriptor, autoclose: false)
      end

      # Lets go of the descriptor; the child goes on.
      # @return [void]
      def close
        @io = nil
        close_descriptor
      end
    end
  end
end
