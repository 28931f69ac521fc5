# frozen_string_literal: true

require "test_helper"
require "support/api_producing"
require "support/small_scheduler"

# Waits for deliveries: several for one, one for many, in fibers, and interrupts of them.
class ProducerWaitingTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  def slow_api(rtt_ms = 800)
    connected_api.tap do |sender|
      sender.produce_sync(thing)
      cluster.set_rtt(1, rtt_ms)
    end
  end

  # Runs the block as a fiber of a thread of its own.
  def in_fibers(&block)
    Thread.new do
      Fiber.set_scheduler(Penstock::TestSupport::SmallScheduler.new)
      Fiber.schedule(&block)
    end.join
  end

  test "several threads may wait for one delivery, each with its own timeout" do
    sender = connected_api(kafka: {"reconnect.backoff.max.ms": 200})
    sender.produce_sync(thing)
    cluster.broker_down(1)
    handle = sender.produce_async(thing)
    short, *long = [1, nil, 40_000, 40_000].map { |timeout_ms| Thread.new { await(handle, timeout_ms) } }
    assert_equal :timed_out, short.value
    cluster.broker_up(1)

    assert_equal [:delivered] * 3, long.map(&:value)
  end

  test "a timeout that has passed before the wait begins means no wait, for a thread and a fiber" do
    handle = api.produce_async(thing)
    outcomes = Queue.new
    waits = [Thread.new { outcomes << await(handle, -1) }, Thread.new { in_fibers { outcomes << await(handle, -1) } }]

    assert(waits.all? { |thread| thread.join(40 * Penstock::TestSupport::Wait::TIME_FACTOR) }, "a wait for -1 ms doesn't end")
    assert_equal [:timed_out] * 2, all_of(outcomes)
  ensure
    waits.each(&:kill)
  end

  test "a thousand deliveries are waited for in one call" do
    sender = slow_api
    handles = Array.new(1_000) { |index| sender.produce_async(thing(index.to_s)) }
    reports = Penstock::Producer::Delivery.wait_all(handles, timeout_ms: 30_000)

    assert_equal 1_000, reports.count(&:delivered?)
    assert_equal handles.map(&:create_result), reports
  end

  test "of many deliveries the first failure is raised once all are known, or none" do
    sender = api(kafka: {"message.timeout.ms": 300})
    handles = Array.new(3) { sender.produce_async(thing) }
    error = assert_raises(Penstock::KafkaError) { Penstock::Producer::Delivery.wait_all(handles) }

    assert_equal :msg_timed_out, error.code
    assert(handles.all?(&:done?))
    assert_equal 3, Penstock::Producer::Delivery.wait_all(handles, raise_response_error: false).size
    assert_raises(Penstock::WaitTimeoutError) { Penstock::Producer::Delivery.wait_all([api.produce_async(thing)], timeout_ms: 1) }
  end

  test "a killed wait leaves the delivery to others" do
    handle = slow_api(1_500).produce_async(thing)
    threads = Array.new(3) { Thread.new { handle.wait } }
    wait_until(20, "sleeping threads") { threads.all? { |thread| thread.status == "sleep" } }
    threads.first(2).each { |thread| thread.kill.join }

    assert_predicate threads.last.value, :delivered?
  end

  test "[Fiber yield] waiting fibers have no threads of their own" do
    sender = slow_api
    turns = []
    most = 0
    in_fibers do
      200.times do |index|
        Fiber.schedule do
          index.even? ? sender.produce_async(thing).wait : sender.produce_sync(thing)
          turns << index
          most = [most, Thread.list.size].max
        end
      end
      turns << :main
    end

    assert_equal [:main, *(0...200)], [turns.first, *turns.drop(1).sort]
    assert_operator most, :<, 20
  end

  test "[Fiber yield] a fiber waits for many, and a failure is raised in it" do
    sender = slow_api
    lost = api(kafka: {"message.timeout.ms": 200})
    seen = []
    in_fibers do
      Fiber.schedule { seen << sender.produce_many_sync([thing] * 50).size }
      Fiber.schedule { seen << Penstock::Producer::Delivery.wait_all([sender.produce_async(thing)]).size }
      Fiber.schedule do
        lost.produce_sync(thing)
      rescue Penstock::ProduceError => error
        seen << error.code
      end
      seen << :main
    end

    assert_equal :main, seen.first
    assert_equal [1, 50, :main, :msg_timed_out].map(&:to_s).sort, seen.map(&:to_s).sort
  end

  test "a close resolves deliveries that fibers wait for" do
    sender = api
    seen = []
    in_fibers do
      Fiber.schedule { seen << sender.produce_async(thing).wait(raise_response_error: false).outcome }
      Thread.new { sender.close(timeout_ms: 100) }
    end

    assert_equal [:failed], seen
  end

  # The real scheduler, with its timers and its interrupts.
  test "[Fiber yield] tasks of async continue during a wait, and their timeout ends it" do
    begin
      require "async"
    rescue LoadError
      skip "the gem async isn't here"
    end
    sender = slow_api
    turns = []
    Thread.new do
      Sync do |task|
        waiting = task.async { turns << sender.produce_sync(thing).outcome }
        ended = task.async do
          task.with_timeout(0.05) { sender.produce_async(thing).wait }
        rescue Async::TimeoutError
          turns << :timed_out
        end
        short = task.async do
          sender.produce_async(thing).wait(timeout_ms: 20)
        rescue Penstock::WaitTimeoutError
          turns << :unknown
        end
        turns << :main
        [waiting, ended, short].each(&:wait)
      end
    end.join

    assert_operator turns.index(:main), :<, turns.index(:delivered)
    assert_equal %i[delivered main timed_out unknown], turns.sort
  end

  private

  def await(handle, timeout_ms)
    handle.wait(timeout_ms: timeout_ms).outcome
  rescue Penstock::WaitTimeoutError
    :timed_out
  end
end
