# frozen_string_literal: true

module Penstock
  module Server
    # Reserves slots in Ruby's heap for the objects that records need. After boot nearly every slot is taken by
    # permanent code, and Ruby adds pages only if too few slots are free after a collection: in small applications each
    # collection frees slots for about a thousand records, and traverses all permanent objects for it. Four more
    # megabytes make that five times as many.
    #
    # Slots are allocated once and left to the garbage collector; nothing is added if there is already enough room (a
    # large application). The Array is cleared explicitly: Ruby treats stale stack contents as references, and the
    # thread that allocates waits on its stack until the end. Runs while the loops connect: it yields between two steps,
    # because a thread that only computes keeps Ruby's lock for 100 ms.
    module HeapRoom
      SLOTS = 100_000
      # Number of slots per step.
      STEP = 2_000
      private_constant :STEP

      # @return [Integer] number of requested slots
      def self.make(slots = SLOTS)
        missing = [slots - GC.stat(:heap_free_slots), 0].max
        Array.new((missing / STEP.to_f).ceil) { step }.each(&:clear).size * STEP
      end

      # @return [Array<Object>]
      def self.step
        Thread.pass
        Array.new(STEP) { Object.new }
      end
    end
  end
end
