# frozen_string_literal: true

require "test_helper"
require "penstock/native/producer"
require "support/native_producing"
require "support/small_scheduler"

# Fibers of a thread that wait for deliveries: one of them leads, and the others must be woken when it is ended.
class NativeFiberWaitsTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  class Ended < StandardError; end

  # A scheduler that ends without its waiting fibers.
  class Gone < Penstock::TestSupport::SmallScheduler
    def run = nil
  end

  # A producer whose reports come when a test releases them.
  def held
    producer(linger_ms: 0, reconnect_backoff_max_ms: 100).tap do |native|
      native.sync_wait(dispatch(native), nil)
      cluster.broker_down(1)
    end
  end

  def release = cluster.broker_up(1)

  # Runs the block in the thread's own fiber, which no scheduler suspends, and then the fibers it has scheduled.
  def with_scheduler(scheduler = Penstock::TestSupport::SmallScheduler.new)
    Thread.new do
      Fiber.set_scheduler(scheduler)
      yield scheduler
    end
  end

  def wait_in_fiber(scheduler, delivery, seen, name, timeout_ms = nil)
    scheduler.fiber do
      seen << [name, delivery.wait_in_fiber(timeout_ms)]
    rescue Ended
      seen << [name, :ended]
    end
  end

  def assert_ends(*threads)
    assert(threads.all? { |thread| thread.join(40 * Penstock::TestSupport::Wait::TIME_FACTOR) }, "a fiber is never woken")
  ensure
    threads.each(&:kill)
  end

  test "fibers that wait for the same and for other deliveries are all woken, without a thread of their own" do
    native = held
    deliveries = Array.new(50) { dispatch(native) }
    seen = []
    before = Thread.list.size
    thread = with_scheduler do |scheduler|
      100.times { |index| wait_in_fiber(scheduler, deliveries[index % 50], seen, index) }
      seen << Thread.list.size - before
      release
    end
    assert_ends(thread)

    assert_equal [1, *0...100], [seen.first, *seen.drop(1).map(&:first).sort]
    assert(seen.drop(1).all?(&:last))
  end

  test "fibers of several threads and of several producers wait independently" do
    natives = [held, producer(linger_ms: 0)]
    seen = Queue.new
    threads = Array.new(3) do |number|
      with_scheduler do |scheduler|
        natives.cycle.first(40).each { |native| wait_in_fiber(scheduler, dispatch(native), seen, number) }
      end
    end
    wait_until(40, "those who wait") { threads.all?(&:stop?) }
    release
    assert_ends(*threads)

    assert_equal [40] * 3, Array.new(seen.size) { seen.pop }.group_by(&:first).values.map(&:size)
  end

  test "when the leader is ended, another fiber leads" do
    native = held
    seen = []
    thread = with_scheduler do |scheduler|
      fibers = Array.new(4) { |index| wait_in_fiber(scheduler, dispatch(native), seen, index) }
      fibers[0].raise(Ended)
      fibers[1].raise(Ended) # it was to lead, and doesn't know it yet
      scheduler.turn
      release
    end
    assert_ends(thread)

    assert_equal [[0, :ended], [1, :ended], [2, true], [3, true]], seen.sort_by(&:first)
  end

  test "a fiber ended after it was woken consumes the wakeup, and its next wait isn't ended by it" do
    native = held
    delivery = dispatch(native)
    seen = []
    thread = with_scheduler do |scheduler|
      wait_in_fiber(scheduler, delivery, seen, :leads)
      follows = scheduler.fiber do
        delivery.wait_in_fiber(nil)
      rescue Ended
        seen << :ended
        scheduler.block(:something_else)
        seen << :woken
      end
      release
      scheduler.turn until seen.any?
      follows.raise(Ended)
      scheduler.turn
      seen << :rests
      scheduler.unblock(:something_else, follows)
    end
    assert_ends(thread)

    assert_equal [[:leads, true], :ended, :rests, :woken], seen
  end

  test "each wait has its own timeout, or none, while others continue" do
    native = held
    delivery = dispatch(native)
    seen = []
    short_ms = (400 * Penstock::TestSupport::Wait::TIME_FACTOR).ceil # all are waiting before it ends
    thread = with_scheduler do |scheduler|
      {long: nil, short: short_ms, none: 0, before: -1, longer: 2 * short_ms}.each do |name, timeout_ms|
        wait_in_fiber(scheduler, delivery, seen, name, timeout_ms)
      end
      scheduler.turn until seen.size == 4
      release
    end
    assert_ends(thread)

    assert_equal %i[before none], seen.first(2).map(&:first).sort
    assert_equal [[:short, false], [:longer, false], [:long, true]], seen.drop(2)
  end

  test "a timeout earlier than the awaited one is noticed, even while the producer closes" do
    native = held
    delivery = dispatch(native)
    seen = []
    thread = with_scheduler do |scheduler|
      wait_in_fiber(scheduler, delivery, seen, :long, 300_000)
      wait_in_fiber(scheduler, delivery, seen, :short, 20)
      scheduler.turn until seen.size == 1
      closing = Thread.new { native.close(60_000) }
      wait_until(40, "a close") { native.state == :closing }
      wait_in_fiber(scheduler, delivery, seen, :late, 20)
      scheduler.turn until seen.size == 2
      release
      closing.join
    end
    assert_ends(thread)

    assert_equal [[:short, false], [:late, false], [:long, true]], seen
  end

  test "fibers left by an ended scheduler don't keep others from being woken" do
    native = held
    delivery = dispatch(native)
    seen = []
    with_scheduler(Gone.new) do |scheduler|
      2.times { wait_in_fiber(scheduler, delivery, seen, :gone) }
    end.join
    threads = Array.new(2) { with_scheduler { |scheduler| wait_in_fiber(scheduler, delivery, seen, :there) } }
    wait_until(40, "those who wait") { threads.all?(&:stop?) }
    release
    assert_ends(*threads)

    assert_equal [[:there, true]] * 2, seen
  end

  test "fibers of a thread with a new scheduler are woken by that scheduler" do
    native = held
    delivery = dispatch(native)
    seen = []
    thread = with_scheduler(Gone.new) do |gone|
      wait_in_fiber(gone, delivery, seen, :gone)
      Fiber.set_scheduler(scheduler = Penstock::TestSupport::SmallScheduler.new)
      2.times { wait_in_fiber(scheduler, delivery, seen, :there) }
      release
    end
    assert_ends(thread)

    assert_equal [[:there, true]] * 2, seen
  end

  test "two thousand fibers wait at once, and each is woken" do
    native = held
    seen = []
    thread = with_scheduler do |scheduler|
      2_000.times { |index| wait_in_fiber(scheduler, dispatch(native), seen, index) }
      release
    end
    assert_ends(thread)

    assert_equal [*0...2_000], seen.map(&:first).sort
    assert(seen.all?(&:last))
  end

  test "as many descriptors are open as there were schedulers at the same time, until the client is closed" do
    native = producer(linger_ms: 0)
    before = descriptors
    20.times { assert_ends(with_scheduler { |scheduler| wait_in_fiber(scheduler, dispatch(native), [], 0) }) }

    assert_equal 1, descriptors - before
    native.close(0)

    assert_equal 0, descriptors - before
  end

  test "an uninitialized list watches nothing" do
    watched = Penstock::Native::Completions.allocate
    delivery = dispatch(producer)

    [-> { watched.fd }, -> { watched.take([]) }, -> { watched.watch(delivery, 1, nil, false) }].each do |call|
      assert_raises(Penstock::HandleClosedError, &call)
    end
    assert_nil watched.unwatch(delivery, 1)
    assert_nil watched.close
  end

  test "a list initialized again after its close has no old entries" do
    first, second = Array.new(2) { Penstock::Native::Completions.new }
    2.times do
      first.close
      first.send(:initialize)
    end
    pid = fork { exit!(0) } # whose hook visits all of them
    watcher = ::Process.detach(pid)

    assert watcher.join(20 * Penstock::TestSupport::Wait::TIME_FACTOR), "a child goes round and round"
    assert_operator second.fd, :>=, 0
  ensure
    ::Process.kill(:KILL, pid) if watcher.alive?
    watcher.join
    [first, second].each(&:close)
  end

  private

  def descriptors = ObjectSpace.each_object(Penstock::Native::Completions).count { |watched| open?(watched) }

  def open?(watched)
    !watched.fd.nil?
  rescue Penstock::HandleClosedError
    false
  end
end
