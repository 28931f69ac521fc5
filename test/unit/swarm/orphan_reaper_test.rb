# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/orphan_reaper"

module Penstock
  module Swarm
    class OrphanReaperTest < TestCase
      # Without the kernel: `there` are children that have ended.
      class Alone < OrphanReaper
        attr_reader :there, :waited

        def initialize
          super
          @there, @waited = [], []
        end

        private

        def some_ended = @there.first
        def ended_children = @there.dup
        def waited_for(pid) = @there.delete(pid) && @waited << pid
      end

      def setup
        super
        @orphan_reaper = Alone.new
      end

      def look(now, known = []) = @orphan_reaper.reap(known, now)

      test "without ended children nothing is due" do
        look(0)
        assert_nil @orphan_reaper.due_at
      end

      test "an unknown child that ended is reaped a second later, once" do
        @orphan_reaper.there << 7
        look(100)
        assert_equal [1_100, []], [@orphan_reaper.due_at, @orphan_reaper.waited]
        look(1_099)
        assert_empty @orphan_reaper.waited
        look(1_100)
        assert_equal [[7], nil], [@orphan_reaper.waited, @orphan_reaper.due_at]
        look(5_000)
        assert_equal [7], @orphan_reaper.waited
      end

      test "a child that others wait for is left to them; a later one has its own second" do
        @orphan_reaper.there.push(7, 8)
        look(0, [7])
        @orphan_reaper.there << 9
        look(600, [7])
        look(1_000, [7])
        assert_equal [[8], 1_600], [@orphan_reaper.waited, @orphan_reaper.due_at]
        look(1_600, [7])
        assert_equal [[8, 9], [7]], [@orphan_reaper.waited, @orphan_reaper.there]
      end

      test "a process id that others reaped, and that is used again, gets a second again" do
        @orphan_reaper.there << 7
        look(0)
        @orphan_reaper.there.clear
        look(500)
        @orphan_reaper.there << 7
        look(1_200)
        assert_equal [2_200, []], [@orphan_reaper.due_at, @orphan_reaper.waited]
      end
    end
  end
end
