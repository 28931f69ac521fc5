# frozen_string_literal: true

require "test_helper"
require "etc"
require "penstock/clock"
require "penstock/execution/run_queue"
require "penstock/execution/threads/pool"
require "penstock/processing/unit"
require "penstock/routing/topic"
require "penstock/runtime/loop/mailbox"
require "penstock/runtime/threads"
require "penstock/server/worker_watch"

module Penstock
  # Real workers with real loads, from their meters to the advice: measured from Ruby 3.2 on, estimated on 3.1. Eight partitions
  # have more records than are ever run, and five workers.
  class LockAdviceTest < TestCase
    WORKERS = 5
    PARTITIONS = 8
    # Periods that are long enough for a hundred units and short enough for a test.
    INTERVAL_MS = 100
    PERIOD_MS = 800
    ROUNDS = 8

    # Runs a block as the unit's user code.
    class Runner
      def initialize(&work) = @work = work

      def call(_slot, unit)
        @work.call
        Processing::Outcome.new(unit: unit)
      end
    end

    Topic = Struct.new(:features, :workers_max)
    Loop = Struct.new(:assigned) do
      def records_wait? = true
    end
    Settings = Struct.new(:concurrency)

    # The part of the process context that a watch uses.
    class Host
      attr_reader :pool, :threads, :emitted

      def initialize(threads, pool)
        @threads, @pool, @emitted = threads, pool, Thread::Queue.new
      end

      def worker_count = WORKERS
      def clock = Clock::SYSTEM
      def settings = Settings.new(WORKERS)
      def reporter = self
      def emit(name, payload) = @emitted << [name, payload]
    end

    test "[lock advice] for workers that only compute it is more processes" do
      round { compute(0.002) } => name, advice

      assert_equal ["workers.advised", :processes, nil], [name, advice[:advice], advice[:suggested]]
      assert_operator advice[:lock_wait_ms], :>, advice[:busy_ms] / 2
      assert_equal !Native::LockMeter.hooks?, advice[:estimated]
    end

    test "[lock advice] for workers that wait for something else it is more threads, at most one for each partition" do
      name, advice = ROUNDS.times.lazy.filter_map { round(3 * PERIOD_MS) { wait_for_something_else(0.005) } }.first
      skip "the machine had no free CPU: threads waited for a lock that nobody used" if advice.nil? && Native::LockMeter.hooks?

      assert_equal ["workers.advised", :threads, PARTITIONS], [name, advice[:advice], advice[:suggested]]
      assert_operator advice[:lock_wait_ms], :<, advice[:busy_ms] / 10
    end

    # On a machine without a free CPU the lock is held by threads that don't run: no load is mixed there.
    test "[lock advice] a mixed load gets none" do
      quiet = Array.new(ROUNDS).any? { round(3 * PERIOD_MS) { compute(0.001) && wait_for_something_else(0.005) }.nil? }
      skip "the machine had no free CPU" if !quiet && overloaded?

      assert quiet, "there was advice in each of #{ROUNDS} rounds"
    end

    private

    # Runs units that do this until there is advice.
    # @return [Array(String, Hash), nil] the first advice; nil if there is none in the time given
    def round(limit_ms = nil, &work)
      pool = new_pool(&work)
      host = Host.new(@threads, pool)
      watch = Server::WorkerWatch.new(host, -> { [loop_of(PARTITIONS)] }, interval_ms: INTERVAL_MS,
        advice: Server::WorkerAdvice.new(period_ms: PERIOD_MS)).start
      slots = fill(pool)
      await(host, limit_ms)
    ensure
      slots&.each { |slot| pool.queue.withdraw(slot) }
      watch&.close
      assert pool.close(10), "workers didn't end"
    end

    def new_pool(&work)
      @threads = Runtime::Threads.new(->(name, error) { flunk "#{name}: #{error.inspect}" })
      Execution::Threads::Pool.new(queue: Execution::RunQueue.new, runner: Runner.new(&work), threads: @threads,
        concurrency: WORKERS, priority: 0, meters: Native::LockMeter)
    end

    def overloaded? = File.read("/proc/loadavg").to_f > 2 * Etc.nprocessors

    # @return [Array<Execution::RunQueue::Slot>]
    def fill(pool)
      mailbox = Runtime::Mailbox.new
      Array.new(PARTITIONS) do |partition|
        slot = Execution::RunQueue::Slot.new("orders", nil, mailbox)
        units = Array.new(20_000) { Processing::Unit.new(partition, :consume, nil, nil, 1, 0) }
        pool.grow(pool.queue.push(slot, *units))
        slot
      end
    end

    def await(host, limit_ms)
      advice = nil
      measured = 0
      wait_until(30, "advice", state: -> { measured }) do
        name, payload = host.emitted.pop
        measured += payload[:period_ms] if name == "workers.measured"
        advice = [name, payload] if name == "workers.advised"
        advice || (limit_ms && measured >= limit_ms)
      end
      advice
    end

    def loop_of(partitions) = Loop.new(Array.new(partitions) { |partition| [topic, partition] })

    def topic = @topic ||= Topic.new({}, nil)

    # User code that reads from a socket, or the like, without Ruby's lock.
    def wait_for_something_else(seconds) = IO.select(nil, nil, nil, seconds)

    # @param seconds [Float] of CPU time of this thread
    def compute(seconds)
      ends = cpu_seconds + seconds
      nil while cpu_seconds < ends
      true
    end

    def cpu_seconds = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  end
end
