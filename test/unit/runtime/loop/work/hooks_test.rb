# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/pool"
require "penstock/runtime/loop/work/hooks"
require "penstock/execution/run_queue"

module Penstock
  class HooksTest < TestCase
    include TestSupport::Lanes

    # Counts the requested workers.
    class Pool
      attr_reader :started

      def initialize = @started = 0
      def start_hook_worker = @started += 1
    end

    def setup
      @queue = Execution::RunQueue.new
      @hooks = Runtime::Hooks.new(@queue, @pool = Pool.new)
    end

    def lane_with(consumer)
      lane(committed: 0).tap do |lane|
        pool = Consumer::Pool.new { Consumer::Context.new(lane, nil).tap { |context| context.consumer = consumer } }
        pool.give_back(pool.take(nil))
        assign(lane, slot: Execution::RunQueue::Slot.new("orders", pool))
      end
    end

    test "[revoked hook] it is handed out once for a lane with a consumer, and not for one without" do
      with, without = lane_with(:consumer), lane_with(nil)
      @hooks.run(:revoked, [with, without])
      @hooks.run(:revoked, [with])
      _, unit = @queue.take_hook(0.001)
      assert_equal [:revoked, with, 0], [unit.action, unit.lane, unit.messages.size]
      assert_nil @queue.take_hook(0.001)
      assert_equal 1, @pool.started
    end

    test "the hook of a lane whose unit still runs follows the unit's end" do
      busy = lane_with(:consumer)
      admit(busy, batch(0..2, from: 0))
      unit = busy.next_unit
      @hooks.run_when_idle(:revoked, busy)
      assert_nil @queue.take(wait: false)
      busy.returned(unit)
      @hooks.ended(busy)
      assert_equal :revoked, @queue.take(wait: false)[1].action
    end
  end
end
