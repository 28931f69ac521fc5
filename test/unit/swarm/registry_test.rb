# frozen_string_literal: true

require "test_helper"
require "support/swarms"

module Penstock
  module Swarm
    class RegistryTest < TestCase
      include TestSupport::Swarms

      # --- start and death

      test "all nodes are forked at once, and change from starting to ready to healthy" do
        swarm(3)

        assert_equal [[:fork, 0], [:fork, 1], [:fork, 2]], decide
        spawned(0)
        assert_equal :starting, state(0)
        received(0, Message::Ready.new({member: false}))
        assert_equal :ready, state(0)
        received(0, Message::Healthy.new({member: false, jobs: 3}))
        assert_equal [:healthy, false, 3], [state(0), entry(0).member?, entry(0).fact(:jobs)]
      end

      test "a node that was in its groups once is settled, but isn't a member any more when it reports so" do
        running(1)
        assert_equal [true, true], [entry(0).settled?, entry(0).member?]
        received(0, Message::Healthy.new({member: false}))
        assert_equal [true, false], [entry(0).settled?, entry(0).member?]
        received(0, Message::Unhealthy.new("stuck", {member: true}))
        decide
        refute_predicate entry(0), :member?
      end

      test "[TSTP quiet] a swarm is quiet when all its living nodes have reported that they are, and not before it was asked to be" do
        running(2)
        2.times { |index| received(index, Message::Healthy.new({member: true, state: "quiet"})) }
        refute_predicate @registry, :quiet?
        @registry.quiet
        assert_predicate @registry, :quiet?
        received(0, Message::Healthy.new({member: true, state: "quieting"}))
        refute_predicate @registry, :quiet?
        ended(0)
        assert_predicate @registry, :quiet?
        @registry.stop(@now)
        refute_predicate @registry, :quiet?
      end

      # As another thread does while the node is reaped: a fact may be gone at the next read.
      test "a node's facts may be cleared while another thread reads them" do
        entry = Registry::Entry.new(state: :healthy)
        looks = [{member: true}]
        entry.define_singleton_method(:facts) { looks.shift }

        assert_predicate entry, :member?
        refute_predicate entry, :member?
      end

      test "a node that was healthy and is killed is replaced at once, any number of times" do
        swarm(1)
        20.times do
          assert_equal [[:fork, 0]], decide
          spawned(0)
          healthy(0)
          ended(0)
        end
      end

      test "a node that dies before it was healthy waits 1, 2, 4 … 60 s, then it is held down with the reason" do
        swarm(1)
        waits = Array.new(7) do
          assert_equal [[:fork, 0]], decide
          spawned(0)
          ended(0, "exit code 1")
          assert_empty decide
          wait = @registry.next_due - @now
          @now = @registry.next_due
          wait
        end

        assert_equal [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000], waits
        decide
        spawned(0)
        ended(0, "exit code 1")
        assert_equal [:held_down, "exit code 1", nil], [state(0), entry(0).reason, @registry.next_due]
        assert_empty decide
        assert_predicate @registry, :over?
      end

      test "a healthy report resets the count of deaths; the exit code of a configuration error counts as a death" do
        swarm(1)
        2.times { (@now = @registry.next_due) && decide && spawned(0) && ended(0) }
        @now = @registry.next_due
        decide
        spawned(0)
        healthy(0)
        ended(0)
        assert_equal [[:fork, 0]], decide
        spawned(0)
        healthy(0)
        @registry.ended(0, "exit code 1", @now, failed: true)
        assert_empty decide
        assert_equal @now + 1_000, @registry.next_due
      end

      # The cause may be a record that ends the process. Minutes apart it doesn't count; a requested restart doesn't either.
      test "nodes that end by themselves soon after they were healthy wait 0, 1, 2, 4 … 60 s, and none is held down" do
        swarm(1)
        assert_equal [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000], Array.new(10) { falls }
        assert_equal 0, falls(60_000)
        assert_equal 0, falls
        @now = @registry.next_due
        3.times do
          decide && spawned(0) && healthy(0)
          @registry.restart(@now)
          decide && ended(0, "exit code 0")
          assert_equal @now, @registry.next_due
        end
        assert_equal 1_000, falls
      end

      # @return [Integer] ms until the next
      def falls(age = 59_999)
        @now = @registry.next_due
        assert_equal [[:fork, 0]], decide
        spawned(0) && healthy(0)
        @now += age
        received(0, Message::Stopping.new(60_000))
        ended(0, "exit code 0")
        @registry.next_due - @now
      end

      test "a process that can't be forked counts as one that died at boot" do
        swarm(1)
        decide
        @registry.unforkable(0, "Errno::EAGAIN", @now)

        assert_equal [:exited, @now + 1_000], [state(0), @registry.next_due]
      end

      test "a node that is awaited is requested once; if it isn't forked, it is due again" do
        running(2)
        ended(0)
        decide
        @registry.awaited(0)
        received(0, Message::Ready.new({}))
        assert_equal [[], :awaited], [decide, state(0)]
        assert_operator @registry.next_due, :>, @now
        @registry.not_forked(0, @now)
        assert_equal [[[:fork, 0]], 0], [decide, entry(0).deaths]
        @registry.awaited(0)
        spawned(0)
        @registry.not_forked(0, @now)
        assert_equal :starting, state(0), "it exists"
      end

      test "a message of a node that has been reaped changes nothing" do
        swarm(1)
        decide
        spawned(0)
        ended(0)
        received(0, Message::Healthy.new({member: true}))

        assert_equal :exited, state(0)
      end

      test "a node that dies of its first job counts as a failed start, one that finds no broker for an interval doesn't" do
        swarm(2)
        decide
        2.times { |index| spawned(index) && received(index, Message::Healthy.new({member: false})) }
        ended(0)
        assert_equal [1, @now + 1_000], [entry(0).deaths, entry(0).due_at]
        @now += 5_000
        received(1, Message::Healthy.new({member: false}))
        ended(1)
        assert_equal [0, @now], [entry(1).deaths, entry(1).due_at]
      end

      # --- silence

      test "a silent node is stopped, with the reason, and killed when it doesn't stop in time, once" do
        running(2)
        @now += 29_999
        healthy(1)
        assert_empty decide
        @now += 1
        assert_equal [[:signal, 0, "TERM"]], decide
        assert_match(/30000 ms/, entry(0).reason)
        assert_equal :not_responding, state(0)
        assert_empty decide
        wait(65_000) { healthy(1) }
        assert_equal [[:signal, 0, "KILL"]], decide
        assert_empty decide
        ended(0)
        assert_equal [[:fork, 0]], decide
      end

      test "a node that boots has twice the time" do
        swarm(1)
        decide
        spawned(0)
        @now += 59_999
        assert_empty decide
        @now += 1
        assert_equal [[:signal, 0, "TERM"]], decide
      end

      test "a node that reports a stall is replaced in the same way" do
        running(2)
        received(0, Message::Unhealthy.new("the loop of app_0 stands still", {jobs: 1}))

        assert_equal [[:signal, 0, "TERM"]], decide
        assert_equal ["the loop of app_0 stands still", :not_responding], [entry(0).reason, state(0)]
      end

      test "while a node stops, its own time limit, with 5 s more, replaces its reports" do
        running(2)
        received(0, Message::Stopping.new(40_000))
        wait(44_999) { healthy(1) }
        assert_empty decide
        wait(1) { healthy(1) }
        assert_equal [[:signal, 0, "KILL"]], decide
      end

      test "a supervisor that was frozen grants a full interval, for silence and for stops" do
        running(2)
        received(1, Message::Stopping.new(10_000))
        @now += 300_000
        @registry.extend_deadlines(@now)
        assert_empty decide
        @now += 4_999
        assert_empty decide
        @now += 1
        assert_equal [[:signal, 0, "TERM"], [:signal, 1, "KILL"]], decide
      end

      test "stall reports of nodes that were frozen with their supervisor don't count, before and after it notices" do
        running(2)
        @now += 300_000
        received(0, stuck = Message::Unhealthy.new("the loop of app_0 stands still", {}))
        @registry.extend_deadlines(@now)
        received(1, stuck)
        assert_empty decide
        @now += 5_000
        [0, 1].each { |index| healthy(index) }
        assert_empty decide
        received(1, stuck)
        assert_equal [[:signal, 1, "TERM"]], decide
      end

      # --- stop

      test "a stop signals all nodes, also those that boot, and kills those that are late" do
        running(2)
        ended(1)
        decide
        spawned(1)
        assert_equal [[0, "TERM"], [1, "TERM"]], @registry.stop(@now).map { |signal| [signal.index, signal.name] }
        ended(0)
        assert_equal @now + 65_000, @registry.next_due
        @now += 65_000
        assert_equal [[:signal, 1, "KILL"]], decide
        refute_predicate @registry, :over?
        ended(1)
        assert_predicate @registry, :over?
        assert_nil @registry.next_due
      end

      test "a second stop shortens the time, a third kills" do
        running(1)
        @registry.stop(@now)
        assert_equal ["TERM"], @registry.stop(@now).map(&:name)
        assert_equal @now + 10_000, @registry.next_due
        assert_equal ["KILL"], @registry.stop(@now).map(&:name)
        assert_predicate @registry, :hurried?
        assert_empty decide
      end

      test "a stop doesn't lengthen the time of a node that had less" do
        running(1)
        received(0, Message::Stopping.new(3_000))
        @registry.stop(@now)

        assert_equal @now + 8_000, @registry.next_due
      end

      test "a node that is forked after all, when the stop came in between, is stopped like the others" do
        swarm(1)
        decide
        @registry.stop(@now)
        spawned(0)

        assert_equal [:stopping, @now + 65_000], [state(0), @registry.next_due]
      end

      test "in any order of events a node has one process, and a swarm that stops ends" do
        500.times { |seed| random_life(Random.new(seed)) }
      end

      # In every second one a mold forks, which takes its time and may die.
      def random_life(random)
        @alive = {}
        @mold = random.seed.odd?
        running(2, age_limit: 100_000)
        2.times { |index| @alive[index] = true }
        60.times { random_step(random) }
        awaited.each { |index| @registry.not_forked(index, @now) }
        @registry.stop(@now)
        @now += 66_000
        decide_and_do
        @alive.each_key { |index| @registry.ended(index, "killed", @now) }
        assert_predicate @registry, :over?
      end

      def random_step(random)
        index = random.rand(2)
        mold_step(random)
        case random.rand(9)
        when 0 then @alive.delete(index) && @registry.ended(index, "died", @now, failed: random.rand(2).zero?)
        when 1 then received(index, Message::Ready.new({}))
        when 2, 3 then healthy(index)
        when 4 then received(index, Message::Stopping.new(random.rand(10_000)))
        when 5 then @registry.restart(@now)
        when 6 then @registry.extend_deadlines(@now)
        when 7 then random.rand(40).zero? ? @registry.quiet : received(index, Message::Unhealthy.new("stuck", {}))
        else @now += random.rand(20_000)
        end
        decide_and_do
      end

      def awaited = (0..1).select { |index| state(index) == :awaited }

      def mold_step(random)
        awaited.each do |index|
          case random.rand(4)
          when 0 then @registry.not_forked(index, @now)
          when 1 then @registry.unforkable(index, "no memory", @now)
          when 2 then (@alive[index] = true) && spawned(index)
          end
        end
      end

      # A decision may lead to more, but not for ever.
      def decide_and_do
        3.times { carry_out }
        assert_empty decide, "the same decisions again and again"
        assert_operator @registry.next_due || @now + 1, :>, @now, "nothing to decide, but due"
      end

      def carry_out
        decide.each do |kind, index, signal|
          next @alive.delete(index) && @registry.ended(index, "killed", @now) if signal == "KILL"
          next unless kind == :fork
          refute @alive.key?(index), "two processes for node #{index}"
          next @registry.awaited(index) if @mold
          @alive[index] = true
          spawned(index)
        end
      end
    end
  end
end
