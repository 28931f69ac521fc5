# frozen_string_literal: true

module Penstock
  module Native
    # What happens to native handles in a fork's child: its threads don't exist there, so a handle can't be used and
    # can't be closed. All of them become discarded ones, their descriptors are closed, and using one raises
    # {ForkedHandleError}. Children made without this hook (`Process.daemon`) are caught by the process id each handle
    # carries.
    #
    # `Process._fork` is the one method that Ruby documents for being wrapped: `fork`, `Kernel#fork` and
    # `IO.popen("-")` go through it. It runs with the GVL, so the child sees a whole list of handles.
    module Fork
      @generation = 0

      class << self
        # @return [Integer] how many forks lie between the first process and this one: another number than before means that
        #   whoever asks is in a child now
        attr_reader :generation

        # In the child.
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
