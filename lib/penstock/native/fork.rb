# frozen_string_literal: true

module Penstock
  module Native
    # Discards native handles in a forked child: their threads don't exist there, so a handle can be neither used nor closed.
    # All of them become discarded ones, their descriptors are closed, and using one raises {ForkedHandleError}. Children made
    # without this hook (`Process.daemon`) are caught by the process id that each handle stores.
    #
    # `Process._fork` is the one method that Ruby documents for being wrapped: `fork`, `Kernel#fork` and `IO.popen("-")` call
    # it. It runs with the GVL, so the child sees a complete list of handles.
    module Fork
      @generation = 0

      class << self
        # @return [Integer] number of forks between the first process and this one: if it has changed, the caller is in a
        #   child now
        attr_reader :generation

        # Called in the child.
        def happened
          @generation += 1
          Native.forked! if Native.respond_to?(:forked!)
        end
      end

      # @return [Integer] 0 in the child
      def _fork
        super.tap { |pid| Fork.happened if pid.zero? }
      end
    end
  end
end

::Process.singleton_class.prepend(Penstock::Native::Fork)
