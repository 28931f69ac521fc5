# frozen_string_literal: true

require "test_helper"
require "penstock/execution/run_queue"
require "penstock/processing/unit"

module Penstock
  class RunQueueTest < TestCase
    Queue = Execution::RunQueue

    def unit(name, action = :consume) = Processing::Unit.new(name, action, nil, nil, 1, 0)
    def slot(topic = "orders") = Queue::Slot.new(topic)

    # Takes without waiting.
    def take(queue) = queue.take(wait: false)

    # Counts how often a loop is woken.
    Mailbox = Struct.new(:woken) do
      def wake_up = self.woken += 1
    end

    test "a loop that finds no place because of another loop's partitions is woken once when one becomes free" do
      queue = Queue.new
      mine, others = Mailbox.new(0), Mailbox.new(0)
      slots = Array.new(3) { Queue::Slot.new("orders", nil, others) }
      slots.each { |each| queue.push(each, unit(:its)) }
      2.times { assert_equal 3, queue.await_place("orders", mine) }
      take(queue)
      assert_equal [1, 0], [mine.woken, others.woken]
      take(queue)
      assert_equal 1, mine.woken
      queue.await_place("orders", mine)
      queue.withdraw(slots.last)
      assert_equal 2, mine.woken
    end

    test "a loop whose own partitions have the places isn't woken: it gets their outcomes anyway" do
      queue = Queue.new
      mine = Mailbox.new(0)
      queue.push(Queue::Slot.new("orders", nil, mine), unit(:mine))
      queue.push(Queue::Slot.new("other", nil, Mailbox.new(0)), unit(:its))
      assert_nil queue.await_place("orders", mine)
      2.times { take(queue) }
      assert_equal 0, mine.woken
    end

    test "running and startable units are counted, for events that have the queue in their payload" do
      queue = Queue.new
      a, b, c = slot, slot, wide(2)
      [[a, :a1], [a, :a2], [b, :b1], [c, :c1], [c, :c2], [c, :c3]].each { |lane, name| queue.push(lane, unit(name)) }

      assert_equal [{busy: 0, enqueued: 4}, 4], [queue.statistics, queue.size]
      taken, first = take(queue)
      assert_equal [{busy: 1, enqueued: 3}, 3], [queue.statistics, queue.size]
      queue.finished(taken, first, false)
      assert_equal({busy: 0, enqueued: 4}, queue.statistics)
    end

    test "units of one lane run one after another, units of other lanes at the same time" do
      queue = Queue.new
      a, b = slot, slot
      [[a, :a1], [a, :a2], [b, :b1]].each { |lane, name| queue.push(lane, unit(name)) }
      assert_equal [:a1, :b1], [take(queue)[1].lane, take(queue)[1].lane]
      assert_nil take(queue)
    end

    test "a unit follows one that went smoothly" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      queue.push(lane, unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, false)
      assert_equal :second, take(queue)[1].lane
    end

    test "a unit that failed stalls its lane until the waiting units were withdrawn" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      queue.push(lane, unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, true)
      assert_nil take(queue)
      assert_equal [:second], queue.withdraw(lane, unstall: true).map(&:lane)
      queue.push(lane, unit(:again))
      assert_equal :again, take(queue)[1].lane
    end

    test "keys don't stall because of each other's failures, also where one worker runs them one after another" do
      queue = Queue.new
      lane = Queue::Slot.new("orders", width: 1, ordered: false)
      queue.push(lane, unit(:first), unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, true)
      assert_equal :second, take(queue)[1].lane
    end

    test "[FIFO / LJF scheduler] lanes take turns in the order in which they got units, however long their jobs take" do
      queue = Queue.new
      a, b = slot, slot
      [[a, :a1], [a, :a2], [b, :b1], [b, :b2]].each { |lane, name| queue.push(lane, unit(name)) }
      order = Array.new(4) do
        lane, one = take(queue)
        queue.finished(lane, one, false)
        one.lane
      end
      assert_equal %i[a1 b1 a2 b2], order
    end

    test "a topic at its limit leaves the worker to another topic" do
      queue = Queue.new(->(topic) { (topic == "slow") ? 1 : 9 })
      slow1, slow2, free = slot("slow"), slot("slow"), slot("free")
      [[slow1, :s1], [slow2, :s2], [free, :f1]].each { |lane, name| queue.push(lane, unit(name)) }
      assert_equal %i[s1 f1], [take(queue)[1].lane, take(queue)[1].lane]
      assert_nil take(queue)
      queue.finished(slow1, unit(:s1), false)
      assert_equal :s2, take(queue)[1].lane
    end

    # Ranks as routes define them: [-priority, share of the workers].
    RANKS = {"urgent" => [1, 1], "heavy" => [0, 2]}.freeze
    RANK = lambda do |topic, running|
      priority, weight = RANKS.fetch(topic, [0, 1])
      [-priority, running.fdiv(weight)]
    end

    test "[FIFO / LJF scheduler] a topic of higher priority goes first, those of the same priority share workers by weight" do
      queue = Queue.new(->(_topic) { 9 }, RANK)
      %w[plain plain plain heavy heavy heavy urgent].each_with_index { |topic, number| queue.push(slot(topic), unit(number)) }

      assert_equal [6, 0, 3, 4, 1, 5, 2], Array.new(7) { take(queue)[1].lane }
    end

    test "[custom scheduler] rank and limit together: a topic at its limit leaves the worker to others, whichever rank it has" do
      queue = Queue.new(->(topic) { (topic == "urgent") ? 1 : 9 }, RANK)
      [["plain", :p], ["urgent", :u1], ["urgent", :u2]].each { |topic, name| queue.push(slot(topic), unit(name)) }

      assert_equal [:u1, :p, nil], [take(queue)[1].lane, take(queue)[1].lane, take(queue)]
    end

    test "[custom scheduler] a push never waits, and units that haven't begun are withdrawn, of their own lane only" do
      queue = Queue.new(->(_topic) { 0 }, RANK)
      going, staying = slot, slot("urgent")
      3.times { |number| queue.push(going, unit(number)) }
      queue.push(staying, unit(:stays))
      assert_nil take(queue), "nothing may start, and yet all could be pushed"

      assert_equal [0, 1, 2], queue.withdraw(going).map(&:lane)
      assert_equal [:stays], queue.withdraw(staying).map(&:lane)
    end

    test "hooks are taken before all units" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:work))
      queue.push_hook(slot, unit(:hook, :revoked))
      assert_equal %i[hook work], [take(queue)[1].lane, take(queue)[1].lane]
    end

    test "a hook worker takes no units, and ends when no hook comes" do
      queue = Queue.new
      queue.push(slot, unit(:work))
      assert queue.push_hook(slot, unit(:hook, :revoked))
      assert_equal :hook, queue.take_hook(0.001)[1].lane
      refute queue.push_hook(slot, unit(:hook, :revoked))
      queue.take_hook(0.001)
      assert_nil queue.take_hook(0.001)
      assert queue.push_hook(slot, unit(:hook, :revoked))
    end

    test "a worker that waits for hooks doesn't consume the wake-up for a unit" do
      queue = Queue.new
      queue.push_hook(slot, unit(:hook, :revoked))
      queue.take_hook(0.001)
      hooks = Thread.new { queue.take_hook(5) }
      wait_until { hooks.stop? }
      assert queue.push(slot, unit(:work)), "the worker for hooks was counted as idle"
      worker = Thread.new { queue.take }
      assert_equal :work, worker.value[1].lane
    ensure
      queue.close
      hooks.join
    end

    test "only the decision about a stalled lane lets it run again" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      queue.push(lane, unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, true)
      called_back = queue.withdraw(lane)
      queue.push(lane, called_back.first)
      assert_nil take(queue)
    end

    test "a push returns how many more units wait than workers are idle" do
      queue = Queue.new
      assert queue.push(slot, unit(:work))
    end

    test "a lane that waits for its own running unit doesn't count as waiting" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      assert_equal 1, queue.waiting("orders")
      take(queue)
      queue.push(lane, unit(:second))
      assert_equal 0, queue.waiting("orders")
    end

    def wide(width, quick: false)
      Queue::Slot.new("orders", width: width, ordered: false).tap { |slot| slot.quick = quick }
    end

    def units(names) = names.map { |name| Processing::Unit.new(name, :consume, nil, nil, 1, 0) }
    def names(units) = units.map(&:lane)

    test "units that were pushed before their workers came count with later ones" do
      queue = Queue.new
      worker = Thread.new { queue.take }
      wait_until { queue.idle == 1 }
      lane = wide(10)
      queue.push(lane, *units(%i[a b]))
      assert_equal 3, queue.push(lane, *units(%i[c d]))
      worker.join
      assert_equal 4, queue.push(slot, unit(:other))
    end

    test "a loop that waits while workers have enough units is woken once, by the worker that leaves few of them" do
      queue = Queue.new
      lane = Queue::Slot.new("orders", nil, mine = Mailbox.new(0), width: 9, ordered: false)
      queue.push(lane, *units(%i[a b c d]))
      take(queue)
      assert_equal 0, mine.woken, "nobody asked"
      assert lane.watch_supply(1)
      woken = Array.new(3) { take(queue) && mine.woken }

      assert_equal [0, 1, 1], woken
      refute lane.watch_supply(1)
    end

    test "a worker that takes quick units together wakes the loop, too, if it leaves few" do
      queue = Queue.new
      lane = Queue::Slot.new("orders", nil, mine = Mailbox.new(0), width: 9, ordered: false).tap { |slot| slot.quick = true }
      queue.push(lane, *units(:a..:z), *units(:a..:z))
      assert lane.watch_supply(20)
      queue.take_chunk(wait: false)

      assert_equal [1, 20], [mine.woken, lane.pending.size]
    end

    test "quick units are taken together, and those that haven't begun are withdrawn too" do
      queue = Queue.new
      lane = wide(4, quick: true)
      queue.push(lane, *units(%i[a b c]))
      _, chunk = queue.take_chunk(wait: false)
      assert_equal :a, chunk.shift.lane
      queue.push(lane, *units(%i[d]))
      assert_equal %i[b c d], names(queue.withdraw(lane))
      assert_empty chunk
    end

    test "units that wait for a quick unit that turns out slow go to other workers, even if other things happen in the queue" do
      queue = Queue.new
      lane, other = wide(4, quick: true), slot("other")
      queue.push(lane, *units(%i[a b c]))
      _, chunk = queue.take_chunk(wait: false)
      chunk.shift
      [0, 1, 2].each do |now|
        assert_equal 0, queue.release_stuck(now, 3)
        queue.push(other, unit(:busy))
        queue.finished(*take(queue), false)
      end
      assert_equal 2, queue.release_stuck(3, 3)
      refute queue.quick_units?
      assert_equal %i[b c], [take(queue)[1].lane, take(queue)[1].lane]
    end

    test "units that wait for a slow unit go to other workers also if the partition isn't quick any more" do
      queue = Queue.new
      lane = wide(4, quick: true)
      queue.push(lane, *units(%i[a b]))
      queue.take_chunk(wait: false).last.shift
      lane.quick = false
      queue.release_stuck(0, 2)
      assert_equal 1, queue.release_stuck(2, 2)
      assert_equal :b, take(queue)[1].lane
    end

    test "a worker that makes progress keeps its units" do
      queue = Queue.new
      lane = wide(4, quick: true)
      queue.push(lane, *units(%i[a b c d]))
      _, chunk = queue.take_chunk(wait: false)
      3.times do |now|
        chunk.shift
        assert_equal 0, queue.release_stuck(now * 10, 2)
      end
      assert_equal 1, chunk.size
    end

    test "units after one that was taken before its partition became quick don't wait for it" do
      queue = Queue.new
      lane = wide(4)
      queue.push(lane, unit(:slow))
      take(queue)
      lane.quick = true
      assert_equal 0, queue.push(lane, *units(%i[a b]))
      assert queue.quick_units?
      queue.release_stuck(0, 2)
      assert_equal 2, queue.release_stuck(2, 2)
      assert_equal %i[a b], [take(queue)[1].lane, take(queue)[1].lane]
    end

    test "units that a worker took and lost before it began any leave the slot free" do
      queue = Queue.new
      lane = wide(1, quick: true)
      queue.push(lane, *units(%i[a b]))
      _, chunk = queue.take_chunk(wait: false)
      called_back = queue.withdraw(lane)
      assert_empty chunk
      queue.finished(lane, nil, false)
      queue.push(lane, *called_back)
      assert_equal :a, take(queue)[1].lane
    end

    test "a close releases every waiting worker" do
      queue = Queue.new
      workers = Array.new(3) { Thread.new { queue.take } }
      wait_until { queue.idle == 3 }
      queue.close
      assert_equal [nil] * 3, workers.map(&:value)
    end
  end
end
