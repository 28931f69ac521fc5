# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

begin
  require "async"
rescue LoadError
  nil # the tests are skipped
end

# Reactors of the gem async whose tasks wait for reports, and are stopped, or end, meanwhile.
class ProducerFibersTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  def setup
    skip "the gem async isn't here" unless defined?(Async)
    super
  end

  def slow_api(rtt_ms = 40)
    connected_api(kafka: {"linger.ms": 0}).tap do |sender|
      sender.produce_sync(thing)
      cluster.set_rtt(1, rtt_ms)
    end
  end

  # @return [Thread] with a reactor whose main task runs the block
  def reactor(&block)
    Thread.new { Sync(&block) }.tap { |thread| thread.report_on_exception = false }
  end

  def assert_ends(*threads)
    assert(threads.all? { |thread| thread.join(40 * Penstock::TestSupport::Wait::TIME_FACTOR) }, "a reactor doesn't end")
  ensure
    threads.each(&:kill)
  end

  test "stopped tasks don't keep other tasks from their reports" do
    sender = slow_api
    reports = []
    stopped = 0
    thread = reactor do |task|
      tasks = Array.new(150) { task.async { 5.times { reports << sender.produce_sync(thing) } } }
      60.times do
        observe_for(rand * 0.004)
        stopped += 1 if tasks.delete(tasks.sample).tap(&:stop)
      end
      tasks.each(&:wait)
      reports << tasks.size
    end
    assert_ends(thread)

    assert_equal 90, reports.pop
    assert_equal 60, stopped
    assert_operator reports.size, :>=, 450
    assert(reports.all?(&:delivered?))
  end

  test "a task whose timeout ends its wait is not woken from its next wait" do
    sender = slow_api
    early = []
    timed_out = 0
    thread = reactor do |task|
      tasks = Array.new(200) do
        task.async do
          begin
            task.with_timeout(rand * 0.09) { sender.produce_async(thing).wait }
          rescue Async::TimeoutError
            timed_out += 1
          end
          took = seconds { observe_for(0.05) }
          early << took if took < 0.045
        end
      end
      tasks.each(&:wait)
    end
    assert_ends(thread)

    assert_empty early
    assert_operator timed_out, :>, 0
  end

  test "a reactor that ends also ends waiting tasks, and the next one of the thread gets its reports" do
    sender = slow_api((200 * Penstock::TestSupport::Wait::TIME_FACTOR).round)
    seen = []
    thread = Thread.new do
      Sync do |task|
        tasks = Array.new(20) { task.async { seen << sender.produce_sync(thing) } }
        task.reactor.stop
        tasks.each(&:wait)
      ensure
        seen << :ended
      end
    ensure
      Sync { seen << sender.produce_sync(thing).outcome }
    end
    assert_ends(thread)

    assert_equal %i[ended delivered], seen
  end

  test "a reactor whose thread is killed doesn't affect another one" do
    sender = slow_api(200)
    killed = reactor { |task| Array.new(20) { task.async { sender.produce_sync(thing) } }.each(&:wait) }
    seen = []
    other = reactor { |task| Array.new(20) { task.async { seen << sender.produce_sync(thing).outcome } }.each(&:wait) }
    wait_until(40, "both wait") { killed.stop? && other.stop? }
    killed.kill
    assert_ends(killed, other)

    assert_equal [:delivered] * 20, seen
  end

  test "several reactors share a producer, while a thread waits too" do
    sender = slow_api(5)
    seen = Queue.new
    threads = Array.new(3) do
      reactor { |task| Array.new(30) { task.async { 5.times { seen << sender.produce_sync(thing).outcome } } }.each(&:wait) }
    end
    threads << Thread.new { 20.times { seen << sender.produce_sync(thing).outcome } }
    assert_ends(*threads)

    assert_equal({delivered: 470}, all_of(seen).tally)
  end

  test "a wait in a transient task lets its reactor end" do
    sender = api
    ended = nil
    thread = reactor do |task|
      task.async(transient: true) do
        sender.produce_async(thing).wait
      ensure
        ended = true
      end
      task.async { observe_for(0.01) }.wait
    end
    assert_ends(thread)

    assert ended
  end

  test "a close resolves each wait" do
    sender = slow_api(100)
    outcomes = []
    thread = reactor do |task|
      tasks = Array.new(100) do
        handle = sender.produce_async(thing)
        task.async { outcomes << handle.wait(raise_response_error: false).outcome }
      end
      closing = Thread.new { sender.close(timeout_ms: 20) }
      tasks.each(&:wait)
      closing.join
    end
    assert_ends(thread)

    assert_equal 100, outcomes.size
    assert_empty outcomes - %i[delivered failed unknown]
  end
end
