# frozen_string_literal: true

require "test_helper"
require "penstock/process/heap_room"

module Penstock
  module ServerProcess
    class HeapRoomTest < Penstock::TestCase
      test "where slots are free already none is added" do
        assert_equal 0, HeapRoom.make(0)
      end

      test "what is missing is asked for in whole steps, and given back to the collector" do
        GC.start
        free = GC.stat(:heap_free_slots)
        asked = HeapRoom.make(free + 15_000)
        assert_operator asked, :>=, 10_000
        GC.start
        assert_operator GC.stat(:heap_free_slots), :>=, free
      end
    end
  end
end
