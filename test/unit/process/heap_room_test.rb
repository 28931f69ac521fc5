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
        live = GC.stat(:heap_live_slots)
        # On a stack that is gone behind it: Ruby takes what lies on a living one for references.
        asked = Thread.new { HeapRoom.make(GC.stat(:heap_free_slots) + 95_000) }.value
        assert_in_delta 95_000, asked, 5_000
        GC.start
        assert_operator GC.stat(:heap_live_slots) - live, :<, asked / 2
      end
    end
  end
end
