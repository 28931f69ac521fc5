# frozen_string_literal: true

require "test_helper"
require "penstock/routing/features/run_on"
require "penstock/runtime/threads"
require "penstock/server/worker_watch"
require "support/virtual_clock"

module Penstock
  # A watch's readings and events, in virtual time. Real workers are tested in test/contract/execution/lock_advice_test.rb.
  class WorkerWatchTest < TestCase
    Topic = Struct.new(:features, :workers_max)
    Parallel = Struct.new(:max_partitions)
    Pool = Struct.new(:figures, :queued?)
    Loop = Struct.new(:assigned, :records_wait?)
    Settings = Struct.new(:concurrency)
    Host = Struct.new(:clock, :pool, :threads, :emitted) do
      def worker_count = 5
      def settings = Settings.new(5)
      def reporter = self
      def emit(*event) = emitted << event
    end

    MINUTE_S = 60

    def setup
      @clock = VirtualClock.new
      @pool = Pool.new([0, 0, 0], true)
      @loop = Loop.new([], false)
      @host = Host.new(@clock, @pool, Runtime::Threads.new(->(name, error) { flunk "#{name}: #{error.inspect}" }), [])
      @watch = Server::WorkerWatch.new(@host, -> { [@loop] }, interval_ms: 3_600_000).start
    end

    def teardown = @closed || @watch.close

    # @param busy [Float] threads that are busy, of which `held` hold the lock and `waited` wait for it; the others wait for
    #   something else. A Ruby without hooks estimates `waited` by the other two
    def pass(seconds, busy:, held:, waited: 0.0)
      (seconds / 10).times do
        @clock.advance(10_000)
        @pool.figures = @pool.figures.zip([busy, waited, held]).map { |from, more| from + (more * 10 * 1_000_000_000).to_i }
        @watch.look
      end
    end

    def advice = @host.emitted.filter_map { |name, payload| payload if name == "workers.advised" }

    def assigned(features, partitions, workers_max = nil)
      topic = Topic.new(features, workers_max)
      @loop.assigned += Array.new(partitions) { |partition| [topic, partition] }
    end

    test "each look emits what the workers did since the last one" do
      pass(10, busy: 2.0, held: 0.5)
      name, payload = @host.emitted.last

      assert_equal "workers.measured", name
      assert_equal({workers: 5, period_ms: 10_000, busy_ms: 20_000.0, estimated: !Native::LockMeter.hooks?},
        payload.except(:lock_wait_ms))
    end

    test "the load of the last minute is there from the first look on" do
      assert_nil @watch.to_h
      pass(10, busy: 2.0, held: 0.5)

      assert_equal [5, 2.0, 10_000], @watch.to_h.values_at(:workers, :busy, :over_ms)
    end

    test "[lock advice] processes for threads that compute, while records wait anywhere" do
      pass(MINUTE_S, busy: 5.0, held: 1.0, waited: 4.0)

      assert_equal([:processes], advice.map { |one| one[:advice] })
      assert_equal [60_000, 300_000.0], advice.first.values_at(:period_ms, :busy_ms)
    end

    test "records that wait in partitions with a worker count, too" do
      @pool[:queued?] = false
      pass(MINUTE_S, busy: 5.0, held: 1.0, waited: 4.0)
      assert_empty advice
      @loop[:records_wait?] = true
      pass(MINUTE_S, busy: 5.0, held: 1.0, waited: 4.0)

      assert_equal 1, advice.size
    end

    test "[lock advice] at most one thread for each partition whose records run in order" do
      assigned({}, 7)
      pass(MINUTE_S, busy: 5.0, held: 0.01)

      assert_equal([[:threads, 7]], advice.map { |one| one.values_at(:advice, :suggested) })
    end

    test "records that run in parallel use any number of threads, or as many as the route allows" do
      assigned({parallel: Parallel.new(3)}, 4)
      pass(MINUTE_S, busy: 5.0, held: 0.01)
      assigned({parallel: Parallel.new(5)}, 1)
      pass(2 * 3_600, busy: 5.0, held: 0.01)

      assert_equal([12, 15, 15], advice.map { |one| one[:suggested] })
    end

    test "a topic's limit of workers counts, and topics that run on fibers or processes don't" do
      assigned({}, 20, 6)
      assigned({run_on: Routing::RunOn.new(:fibers, 100)}, 30)
      pass(MINUTE_S, busy: 5.0, held: 0.01)

      assert_equal([6], advice.map { |one| one[:suggested] })
    end

    test "its end emits the rest" do
      @clock.advance(1_000)
      @pool.figures = [1_000_000_000, 0, 0]
      @closed = @watch.close || true

      assert_equal [["workers.measured", 1_000.0]], @host.emitted.map { |name, payload| [name, payload[:busy_ms]] }
    end

    test "two looks at the same moment are one" do
      2.times { @watch.look }

      assert_empty @host.emitted
    end
  end
end
