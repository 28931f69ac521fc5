# frozen_string_literal: true

require "test_helper"
require "penstock/server/heap_room"

module Penstock
  module Server
    class HeapRoomTest < Penstock::TestCase
      test "where slots are free already none is added" do
        assert_equal 0, HeapRoom.make(0)
      end

      # By a thread that goes on with its stack as it is, as a server's does: Ruby takes what lies there for references.
      test "what is missing is asked for in whole steps, and given back to the collector" do
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
