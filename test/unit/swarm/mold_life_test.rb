# frozen_string_literal: true

require "test_helper"
require "support/swarms"
require "penstock/swarm/mold_life"

module Penstock
  module Swarm
    class MoldLifeTest < TestCase
      include TestSupport::Swarms

      def setup
        super
        @now = 1_000
        @life = MoldLife.new(policy, @now)
      end

      def decide = @life.decide(@now)

      def warm
        assert_equal :fork, decide
        @life.forked(@now)
        @life.warm(@now)
      end

      def ask = @life.asked(@now)

      # @return [Integer, Symbol] ms until the next, or :given_up
      def dies
        @life.ended("SIGKILL", @now)
        @life.given_up? ? :given_up : (@life.due_at - @now).tap { @now = @life.due_at }
      end

      def pass_to_deadline = @now = @life.next_due

      test "a mold is forked at once, warms up, and answers one request at a time" do
        assert_equal [:none, false], [@life.state, @life.ever_warm?]
        warm
        assert_equal [:idle, true], [@life.state, @life.ever_warm?]
        number = ask
        assert_predicate @life, :asked?
        assert @life.answered(number, true)
        assert_predicate @life, :idle?
        assert_nil decide
        assert_nil @life.next_due
      end

      test "an answer to a cancelled request is ignored" do
        warm
        first = ask
        @life.cancel
        refute @life.answered(first, true)
        second = ask
        refute @life.answered(first, true)
        assert_predicate @life, :asked?
        assert @life.answered(second, true)
      end

      test "a mold that spawned a node is replaced at once when it dies, any number of times" do
        20.times do
          warm
          @life.answered(ask, true)

          assert_equal 0, dies
        end
      end

      test "a mold that was idle for an interval, because no node died, is replaced at once too" do
        5.times do
          warm
          @now += 5_000

          assert_equal 0, dies
        end
      end

      test "after three molds in a row that spawned nothing no more are forked: in the warm-up, idle, asked, or unable to fork" do
        {warming: -> {}, idle: -> { @life.warm(@now) }, asked: -> { @life.warm(@now) && ask }, refusing: lambda {
          @life.warm(@now)
          @life.answered(ask, false)
        }}.each_value do |step|
          @life = MoldLife.new(policy, @now)
          waits = Array.new(3) do
            assert_equal :fork, decide
            @life.forked(@now)
            step.call
            dies
          end

          assert_equal [1_000, 2_000, :given_up], waits
          assert_equal [nil, nil, "SIGKILL"], [decide, @life.next_due, @life.reason]
        end
      end

      test "a warm-up without an end, and a request without an answer, are killed once, with the reason" do
        @life.forked(@now)
        pass_to_deadline
        assert_equal [:kill, nil, :killed], [decide, decide, @life.state]
        @life.warm(@now)
        assert_equal :killed, @life.state, "a later report comes too late"
        dies
        assert_match(/wasn't warm in time/, @life.reason)
        warm
        refute @life.answered(ask.succ, true)
        pass_to_deadline
        assert_equal :kill, decide
        assert_match(/didn't answer within 10000 ms/, @life.reason)
      end

      test "a killed mold that doesn't end is abandoned after 5 s, and the reason includes that" do
        warm
        ask
        pass_to_deadline
        decide
        assert_equal @now + 5_000, @life.next_due
        @now += 4_999
        assert_nil decide
        @now += 1
        assert_equal :abandon, decide
        @life.abandoned(@now)
        assert_equal [:none, 1_000], [@life.state, @life.due_at - @now]
        assert_match(/didn't answer within 10000 ms, and it isn't gone 5000 ms after SIGKILL/, @life.reason)
      end

      test "a supervisor that was frozen grants an interval" do
        warm
        number = ask
        @now += 3_600_000
        @life.extend_deadlines(@now)
        assert_nil decide
        assert @life.answered(number, true)
        ask
        @life.extend_deadlines(@now)
        assert_equal @now + 10_000, @life.next_due, "nothing is shortened"
      end

      test "a mold's own report is the reason of its end" do
        @life.forked(@now)
        @life.failed("no such file")
        dies
        assert_equal "no such file", @life.reason
        @life.forked(@now)
        assert_nil @life.reason
      end
    end
  end
end
