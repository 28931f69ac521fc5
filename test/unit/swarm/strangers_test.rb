# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/strangers"

module Penstock
  module Swarm
    class StrangersTest < TestCase
      # Without the kernel: `there` are children that have ended.
      class Alone < Strangers
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
        @strangers = Alone.new
      end

      def look(now, known = []) = @strangers.wait_for(known, now)

      test "nobody is there to be waited for: nothing is due" do
        look(0)
        assert_nil @strangers.due_at
      end

      test "an ended child that nobody knows is waited for a second later, once" do
        @strangers.there << 7
        look(100)
        assert_equal [1_100, []], [@strangers.due_at, @strangers.waited]
        look(1_099)
        assert_empty @strangers.waited
        look(1_100)
        assert_equal [[7], nil], [@strangers.waited, @strangers.due_at]
        look(5_000)
        assert_equal [7], @strangers.waited
      end

      test "whom somebody else waits for is left to it; who comes later has its own second" do
        @strangers.there.push(7, 8)
        look(0, [7])
        @strangers.there << 9
        look(600, [7])
        look(1_000, [7])
        assert_equal [[8], 1_600], [@strangers.waited, @strangers.due_at]
        look(1_600, [7])
        assert_equal [[8, 9], [7]], [@strangers.waited, @strangers.there]
      end

      test "a number that was waited for by somebody else, and comes again, has its second anew" do
        @strangers.there << 7
        look(0)
        @strangers.there.clear
        look(500)
        @strangers.there << 7
        look(1_200)
        assert_equal [2_200, []], [@strangers.due_at, @strangers.waited]
      end
    end
  end
end
