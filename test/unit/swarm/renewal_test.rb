# frozen_string_literal: true

require "test_helper"
require "support/swarms"

module Penstock
  module Swarm
    # How the registry replaces living nodes: one at a time.
    class RenewalTest < TestCase
      include TestSupport::Swarms

      test "a rolling restart continues when the successor is a healthy member, and ends" do
        running(3)
        @registry.restart(@now)
        3.times do |index|
          assert_equal [[:signal, index, "TERM"]], decide
          assert_empty decide
          ended(index)
          assert_equal [[:fork, index]], decide
          spawned(index)
          received(index, Message::Ready.new({member: false}))
          received(index, Message::Healthy.new({member: false}))
          assert_empty decide, "not a member yet"
          healthy(index)
        end
        assert_empty decide
        refute_predicate @registry, :rolling?
      end

      test "a node that died meanwhile counts as renewed; a node that is held down gets another chance" do
        running(3)
        8.times { hold_down(2) } # the last one stays held down
        assert_equal :held_down, state(2)
        @registry.restart(@now)
        ended(1)
        assert_equal [[:fork, 1], [:fork, 2]], decide
        [1, 2].each { |index| spawned(index) && healthy(index) }
        assert_equal [[:signal, 0, "TERM"]], decide
        ended(0)
        decide
        spawned(0)
        healthy(0)
        assert_empty decide
      end

      test "a stop ends a rolling restart: no node is forked any more" do
        running(3)
        @registry.restart(@now)
        decide
        assert_equal [0, 1, 2], @registry.stop(@now).map(&:index)
        3.times { |index| ended(index) }
        assert_empty decide
        assert_predicate @registry, :over?
        refute_predicate @registry, :rolling?
      end

      test "a rolling restart is under way until all nodes have settled again, also one that is held down" do
        running(2)
        refute_predicate @registry, :rolling?
        assert @registry.restart(@now)
        2.times do |index|
          decide
          ended(index)
          decide
          spawned(index)
          assert_predicate @registry, :rolling?
          healthy(index) if index.zero?
        end
        ended(1)
        8.times { hold_down(1) }
        decide
        assert_equal [:held_down, false], [state(1), @registry.rolling?]
      end

      test "a quiet or stopping swarm restarts no node, and ends a restart that was under way" do
        %i[quiet stop].each do |order|
          running(2)
          @registry.restart(@now)
          decide
          assert_predicate @registry, :rolling?
          (order == :quiet) ? @registry.quiet : @registry.stop(@now)
          2.times do
            refute_predicate @registry, :rolling?
            refute @registry.restart(@now)
          end
        end
      end

      test "[swarm memory/ttl codes] limits are checked one node at a time, and apply a little before the configured value" do
        @random = 1.0
        running(3, memory_limit: 1_000, jobs_limit: 10_000, age_limit: 100_000)
        received(1, Message::Healthy.new({member: true, rss_bytes: 899, jobs: 8_999}))
        assert_empty decide
        received(1, Message::Healthy.new({member: true, rss_bytes: 900}))
        received(2, Message::Healthy.new({member: true, jobs: 9_000}))
        assert_equal [[:signal, 1, "TERM"]], decide
        assert_match(/900 bytes of memory, its limit is 1000/, entry(1).reason)
        ended(1)
        decide
        spawned(1)
        assert_empty decide
        healthy(1)
        assert_equal [[:signal, 2, "TERM"]], decide
        assert_match(/9000 jobs/, entry(2).reason)
        renewed(2)
        wait(89_999) { 3.times { |index| healthy(index) } }
        assert_empty decide
        wait(1) { 3.times { |index| healthy(index) } }
        assert_equal [[:signal, 0, "TERM"]], decide
        assert_match(/ms of age/, entry(0).reason)
      end

      test "age alone wakes the supervisor, but not while other nodes aren't settled" do
        running(2, age_limit: 10_000)
        assert_equal 10_000, @registry.next_due
        @now = 10_000
        healthy(0)
        received(1, Message::Stopping.new(1_000))
        assert_empty decide
        assert_operator @registry.next_due, :>, @now
      end

      test "in a quiet swarm, where no node is replaced, age doesn't wake the supervisor" do
        running(2, age_limit: 10_000)
        @registry.quiet
        @now = 10_000
        2.times { |index| healthy(index) }
        assert_empty decide
        assert_operator @registry.next_due, :>, @now
      end
    end
  end
end
