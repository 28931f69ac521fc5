# frozen_string_literal: true

require "test_helper"
require "penstock/server/heap_room"

module Penstock
  module Server
    class HeapRoomTest < Penstock::TestCase
      test "if enough slots are free none is added" do
        assert_equal 0, HeapRoom.make(0)
      end

      # On a thread that continues with its stack as it is, as a server's does: Ruby treats stale stack contents as
      # references.
      test "missing slots are requested in whole steps, and returned to the collector" do
        made, done = Queue.new, Queue.new
        GC.start
        live = GC.stat(:heap_live_slots)
        maker = Thread.new { made.push(HeapRoom.make(GC.stat(:heap_free_slots) + 95_000)) && done.pop }
        asked = made.pop
        assert_in_delta 95_000, asked, 5_000
        GC.start
        assert_operator GC.stat(:heap_live_slots) - live, :<, asked / 2
      ensure
        done.push(true)
        maker.join
      end
    end
  end
end
