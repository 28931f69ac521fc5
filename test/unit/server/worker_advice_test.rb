# frozen_string_literal: true

require "test_helper"
require "penstock/server/worker_advice"

module Penstock
  # In virtual time, a load each ten seconds.
  class WorkerAdviceTest < TestCase
    INTERVAL_MS = 10_000
    COMPUTING = {busy: 5.0, waited: 4.0, held: 1.0}.freeze
    WAITING = {busy: 4.95, waited: 0.05, held: 0.1}.freeze
    MIXED = {busy: 5.0, waited: 1.5, held: 0.7}.freeze

    def setup
      @advice = Server::WorkerAdvice.new
      @now = 0
    end

    # @return [Array<Server::WorkerAdvice::Advice>] what is advised while the load stays like this
    def stay(seconds, load, workers: 5, behind: true, queued: true, **options)
      Array.new(seconds * 1_000 / INTERVAL_MS) {
        @now += INTERVAL_MS
        busy, waited, held = load.values_at(:busy, :waited, :held).map { |share| share && share * INTERVAL_MS }
        @advice.call(Server::WorkerLoad.new(period_ms: INTERVAL_MS, workers: workers, busy_ms: busy, lock_wait_ms: waited,
          held_ms: held, estimated: false, behind: behind, queued: queued), @now, **options)
      }.compact
    end

    test "[lock advice] for threads that only compute it is more processes, after a minute" do
      assert_empty stay(50, COMPUTING)
      advice, = stay(10, COMPUTING)

      assert_equal [:processes, 5, nil], [advice.kind, advice.workers, advice.suggested]
      assert_in_delta 0.8, advice.load.lock_share
      assert_equal 60_000, advice.load.period_ms
    end

    test "[lock advice] where all workers wait for something else and partitions wait for them, more threads help" do
      advice, = stay(60, WAITING)

      assert_equal [:threads, 5, 15], [advice.kind, advice.workers, advice.suggested]
    end

    test "[lock advice] a mixed load gets none" do
      assert_empty stay(3 * 3_600, MIXED)
    end

    test "[lock advice] at most one an hour, of any kind" do
      assert_equal 1, stay(3_600, COMPUTING).size
      assert_equal [:threads], stay(3_600, WAITING).map(&:kind)
      assert_equal 24, stay(24 * 3_600, COMPUTING).size
    end

    test "[lock advice] while no records wait there is none" do
      assert_empty stay(600, COMPUTING, behind: false, queued: false)
      assert_empty stay(600, WAITING, behind: false, queued: false)
    end

    test "computing threads are enough if records wait in partitions that have a worker" do
      assert_equal [:processes], stay(60, COMPUTING, queued: false).map(&:kind)
    end

    test "more threads help only partitions that wait for a worker" do
      assert_empty stay(600, WAITING, queued: false)
    end

    test "records must have waited for the whole minute" do
      6.times do
        assert_empty stay(50, COMPUTING)
        assert_empty stay(10, COMPUTING, behind: false)
      end
    end

    test "if a worker is idle now and then, more threads don't help" do
      assert_empty stay(600, {busy: 4.5, waited: 0.05, held: 0.1})
    end

    test "the limits belong to the middle: at 10 and at 50 percent there is no advice" do
      assert_empty stay(120, {busy: 5.0, waited: 0.5, held: 0.3})
      assert_empty stay(120, {busy: 5.0, waited: 2.5, held: 0.9})
      assert_equal [:processes], stay(60, {busy: 5.0, waited: 2.6, held: 0.9}).map(&:kind)
    end

    test "no more threads than units could run at once" do
      assert_equal [7], stay(60, WAITING, capacity: -> { 7 }).map(&:suggested)
    end

    test "if no more units could run at once, there is no advice" do
      assert_empty stay(600, WAITING, capacity: -> { 5 })
    end

    test "no more threads than could share the lock" do
      assert_equal [8], stay(60, {busy: 5.0, waited: 0.4, held: 0.4}).map(&:suggested)
    end

    test "where the lock's use isn't known it limits nothing" do
      assert_equal [15], stay(60, {busy: 5.0, waited: 0.1, held: nil}).map(&:suggested)
    end

    test "if threads wait for the lock because the machine has no free CPU, there is no advice" do
      assert_empty stay(600, {busy: 5.0, waited: 4.0, held: 0.1})
      assert_empty stay(600, {busy: 5.0, waited: 4.0, held: 0.49})
      assert_equal [:processes], stay(60, {busy: 5.0, waited: 4.0, held: 0.51}).map(&:kind)
    end

    test "where the lock's use isn't known, its waits alone decide" do
      assert_equal [:processes], stay(60, {busy: 5.0, waited: 4.0, held: nil}).map(&:kind)
    end

    test "without figures, or without work, there is no advice" do
      assert_empty stay(600, {busy: 5.0, waited: nil, held: nil})
      assert_empty stay(600, {busy: 0.0, waited: 0.0, held: 0.0})
    end

    test "another number of workers begins another minute" do
      assert_empty stay(50, WAITING)
      assert_empty stay(50, WAITING, workers: 4)
      assert_equal 50_000, @advice.recent.period_ms
      assert_equal [[4, 12]], stay(10, WAITING, workers: 4).map { |advice| [advice.workers, advice.suggested] }
    end

    test "the load of the last minute" do
      assert_nil @advice.recent
      stay(600, COMPUTING)
      stay(30, WAITING)

      assert_equal 60_000, @advice.recent.period_ms
      assert_in_delta (0.05 + 4.0) / (4.95 + 5.0), @advice.recent.lock_share
    end

    test "periods longer than asked for, on a machine that was busy or asleep" do
      @advice = Server::WorkerAdvice.new(period_ms: 5_000)

      assert_equal [:processes], stay(10, COMPUTING).map(&:kind)
    end
  end
end
