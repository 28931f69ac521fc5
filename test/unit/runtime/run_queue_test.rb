# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/run_queue"
require "penstock/processing/unit"

module Penstock
  class RunQueueTest < TestCase
    Queue = Runtime::RunQueue

    def unit(name, action = :consume) = Processing::Unit.new(name, action, nil, nil, 1, 0)
    def slot(topic = "orders") = Queue::Slot.new(topic)

    # Takes without waiting.
    def take(queue) = queue.take(wait: false)

    test "units of one lane run one after another, those of others meanwhile" do
      queue = Queue.new
      a, b = slot, slot
      [[a, :a1], [a, :a2], [b, :b1]].each { |lane, name| queue.push(lane, unit(name)) }
      assert_equal [:a1, :b1], [take(queue)[1].lane, take(queue)[1].lane]
      assert_nil take(queue)
    end

    test "the unit behind one that went smoothly follows it" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      queue.push(lane, unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, false)
      assert_equal :second, take(queue)[1].lane
    end

    test "a unit that failed stalls its lane until what waits was called back" do
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

    test "keys don't stall for each other's failures, also where one worker runs them one after another" do
      queue = Queue.new
      lane = Queue::Slot.new("orders", width: 1, ordered: false)
      queue.push(lane, unit(:first), unit(:second))
      _, first = take(queue)
      queue.finished(lane, first, true)
      assert_equal :second, take(queue)[1].lane
    end

    test "[FIFO / LJF scheduler] lanes take turns in the order in which they had something, whatever their jobs take" do
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

    test "hooks go before everything" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:work))
      queue.push_hook(slot, unit(:hook, :revoked))
      assert_equal %i[hook work], [take(queue)[1].lane, take(queue)[1].lane]
    end

    test "a worker for hooks takes nothing else, and goes when nothing comes" do
      queue = Queue.new
      queue.push(slot, unit(:work))
      assert queue.push_hook(slot, unit(:hook, :revoked))
      assert_equal :hook, queue.take_hook(0.001)[1].lane
      refute queue.push_hook(slot, unit(:hook, :revoked))
      queue.take_hook(0.001)
      assert_nil queue.take_hook(0.001)
      assert queue.push_hook(slot, unit(:hook, :revoked))
    end

    test "a worker that waits for hooks doesn't swallow the wake-up of a unit" do
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

    test "only who decides about a stalled lane lets it run again" do
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

    test "pushing says when more waits than there are idle workers" do
      queue = Queue.new
      assert queue.push(slot, unit(:work))
    end

    test "a lane that waits behind its running unit doesn't count as waiting" do
      queue = Queue.new
      lane = slot
      queue.push(lane, unit(:first))
      assert_equal 1, queue.waiting("orders")
      take(queue)
      queue.push(lane, unit(:second))
      assert_equal 0, queue.waiting("orders")
    end

    test "closing lets every waiting worker go" do
      queue = Queue.new
      workers = Array.new(3) { Thread.new { queue.take } }
      wait_until { queue.idle == 3 }
      queue.close
      assert_equal [nil] * 3, workers.map(&:value)
    end
  end
end
