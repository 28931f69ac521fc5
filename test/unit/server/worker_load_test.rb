# frozen_string_literal: true

require "test_helper"
require "penstock/server/worker_load"

module Penstock
  # Figures become shares; where waits aren't measured, they are estimated.
  class WorkerLoadTest < TestCase
    SECOND_NS = 1_000_000_000

    # @return [Server::WorkerLoad] of a second; times in seconds
    def load(busy, waited, held, measured: true, **facts)
      after = [busy, waited, held].map { |seconds| seconds && (seconds * SECOND_NS).round }
      Server::WorkerLoad.between([0, 0, 0], after, period_ms: 1_000, measured: measured, workers: 5, behind: true, queued: true,
        **facts)
    end

    test "[lock metrics] shares of the busy time and of the period" do
      one = load(4.0, 3.0, 0.9)

      assert_equal [4.0, 0.75, 0.9], [one.busy_workers, one.lock_share, one.lock_use]
      refute one.estimated
    end

    test "without work, or without figures, there is no share" do
      assert_nil load(0, 0, 0).lock_share
      assert_nil load(3.0, 0, nil, measured: false).lock_share
      assert_nil load(3.0, 0, nil).lock_use
    end

    test "figures never exceed what there was" do
      one = load(2.0, 2.1, 1.4)

      assert_equal [1.0, 1.0], [one.lock_share, one.lock_use]
    end

    test "only what came since the reading before counts" do
      before, after = [5, 2, 1].map { |seconds| seconds * SECOND_NS }, [9, 4, 2].map { |seconds| seconds * SECOND_NS }
      one = Server::WorkerLoad.between(before, after, period_ms: 1_000, measured: true, workers: 5, behind: true, queued: true)

      assert_equal [4_000.0, 2_000.0, 1_000.0], [one.busy_ms, one.lock_wait_ms, one.held_ms]
    end

    test "[lock metrics] estimate: threads that only compute wait while the others do" do
      [2, 5, 20].each do |threads|
        assert_in_delta (threads - 1) / threads.to_f, load(threads, 0, 1.0, measured: false).lock_share, 0.001
      end
    end

    test "[lock metrics] estimate: threads that only wait for something else don't wait for the lock" do
      assert_operator load(5.0, 0, 0.02, measured: false).lock_share, :<, 0.001
      assert_equal 0, load(0.8, 0, 0.8, measured: false).lock_share
    end

    # The exact value of each load is that of a closed queue: 1 ms of computing in turn, then `rest` ms of something else, by n
    # threads.
    test "[lock metrics] estimate: mixed loads are near the share that queueing theory gives" do
      [[5, 5.0], [5, 10.0], [10, 20.0], [3, 4.0]].each do |threads, rest|
        use, share = closed_queue(threads, rest)

        assert_in_delta share, load(threads, 0, use, measured: false).lock_share, 0.06, "#{threads} threads, #{rest}"
      end
    end

    test "the sum of several periods" do
      sum = Server::WorkerLoad.sum([load(4.0, 1.0, 0.5), load(2.0, 1.0, 0.5, queued: false)])

      assert_equal [2_000, 6_000.0, 2_000.0, 1_000.0], [sum.period_ms, sum.busy_ms, sum.lock_wait_ms, sum.held_ms]
      assert_equal [true, false, 3.0], [sum.behind, sum.queued, sum.busy_workers]
      assert_nil Server::WorkerLoad.sum([load(4.0, 1.0, 0.5), load(2.0, 1.0, nil)]).held_ms
      assert_nil Server::WorkerLoad.sum([])
    end

    test "facts are plain values, without what isn't known" do
      assert_equal({workers: 5, busy: 4.0, lock_wait: 0.25, estimated: false, over_ms: 1_000}, load(4.0, 1.0, 0.5).to_facts)
      assert_equal({workers: 5, busy: 0.0, estimated: true, over_ms: 1_000}, load(0, 0, nil, measured: false).to_facts)
    end

    private

    # @return [Array(Float, Float)] share of the time in which the lock is held, share of the threads' time spent waiting for it
    def closed_queue(threads, rest)
      weights = (0..threads).map { |waiting| (threads - waiting + 1..threads).reduce(1.0, :*) / rest**waiting }
      use = 1 - 1 / weights.sum
      [use, 1 - (1 + rest) * use / threads]
    end
  end
end
