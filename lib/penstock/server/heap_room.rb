# frozen_string_literal: true

module Penstock
  module Server
    # Room in Ruby's heap for the objects that records need. After boot nearly every slot is taken by code that stays, and Ruby
    # adds pages only once too few are free behind a collection: with small applications each collection frees room for a
    # thousand records or so, and walks over the whole of what stays for it. Four megabytes more make that five times as many.
    #
    # Slots are taken once and left to the collector; where there is room already (a large application) nothing is added. Emptied
    # by hand: Ruby takes what a stack once held for references, and the thread that makes room waits on its stack to the end.
    # Made while the loops connect: between two steps they get their turn, for who only computes keeps Ruby's lock for 100 ms.
    module HeapRoom
      SLOTS = 100_000
      # So many at a time.
      STEP = 2_000
      private_constant :STEP

      # @return [Integer] slots that were asked for
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
