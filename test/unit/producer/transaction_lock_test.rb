# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/transaction_lock"
require "support/small_scheduler"

class ProducerTransactionLockTest < Penstock::TestCase
  Deadline = Penstock::Deadline

  def lock
    @lock ||= Penstock::Producer::TransactionLock.new
  end

  # A thread inside the lock until it is released.
  def occupant
    inside = Queue.new
    go_on = Queue.new
    thread = Thread.new { lock.hold { (inside << 1) && go_on.pop } }
    inside.pop
    [thread, go_on]
  end

  def waiting(&block)
    Thread.new(&block).tap do |thread|
      thread.report_on_exception = false
      wait_until(5, "a waiting thread") { thread.status == "sleep" }
    end
  end

  test "try doesn't wait and fails for the fiber that has the lock" do
    ran = []
    assert(lock.try { ran << 1 })
    lock.hold { refute(lock.try { ran << 2 }) }
    thread, go_on = occupant
    refute(lock.try { ran << 3 })
    go_on << true
    thread.join
    assert_equal [[1], false], [ran, lock.mine?]
    lock.shut(Deadline.in(0))
    assert_raises(Penstock::ProducerClosedError) { Fiber.new { lock.try { ran << 4 } }.resume }
  end

  test "the lock belongs to one fiber, which may take it again; another fiber of the thread doesn't have it" do
    lock.hold do
      assert_predicate lock, :mine?
      assert_equal [1, false], [lock.hold { 1 }, Fiber.new { lock.mine? }.resume]
      assert_predicate lock, :mine?
    end

    refute_predicate lock, :mine?
  end

  test "a fiber that would block the owner's thread gets an error; the owner keeps the lock" do
    lock.hold do
      error = assert_raises(Penstock::TransactionRequiredError) { Enumerator.new { |y| y << lock.hold { flunk } }.next }
      assert_includes error.message, "another fiber of this thread"
      assert_predicate lock, :mine?
    end

    assert_equal 1, Fiber.new { lock.hold { 1 } }.resume
  end

  test "with a Fiber scheduler, a fiber waits for another one of its thread" do
    steps = []
    Thread.new do
      Fiber.set_scheduler(Penstock::TestSupport::SmallScheduler.new)
      release = Queue.new
      Fiber.schedule { lock.hold { steps << release.pop } }
      Fiber.schedule { lock.hold { steps << :second } }
      Fiber.schedule { release << :first }
    end.join

    assert_equal %i[first second], steps
  end

  test "an error inside releases the lock" do
    assert_raises(ArgumentError) { lock.hold { raise ArgumentError } }
    assert_equal 1, lock.hold { 1 }
  end

  # Each look is 5 s later.
  class Hasty < Penstock::Clock
    def initialize = @ms = 0
    def monotonic_ms = @ms += 5_000
  end

  test "a thread that waits long for one transaction reports the place of its owner once, and ends with an error" do
    reports = []
    @lock = Penstock::Producer::TransactionLock.new(limit_ms: 60_000, clock: Hasty.new, look_again_ms: 1) do |text|
      reports << text
    end
    error = nil
    place = nil
    lock.hold do
      other = Thread.new { lock.hold { flunk } }
      other.report_on_exception = false
      error = assert_raises(Penstock::TransactionRequiredError) { place = __LINE__ and other.value }
    end

    assert_equal 1, reports.size
    assert_match(/\Aa thread has waited \d+ s for the transaction of another thread, which is at #{__FILE__}:#{place}:/,
      reports.first)
    assert_match(/\Aanother thread has been in a transaction of this producer for \d+ s.*#{__FILE__}:#{place}:/, error.message)
    assert_equal 1, lock.hold { 1 }
  end

  test "other threads wait, and one killed while waiting leaves the lock usable" do
    first, go_on = occupant
    killed = waiting { lock.hold { flunk } }
    second = waiting { lock.hold { :second } }
    killed.kill.join
    go_on << true

    assert_equal [:second, true], [second.value, first.value]
  end

  test "a shut lock admits only the fiber that shut it and raises for those that wait" do
    first, go_on = occupant
    refused = waiting { lock.hold { flunk } }
    closer = waiting { [lock.shut(Deadline.in(10_000)), lock.hold { :in }] }
    assert_raises(Penstock::ProducerClosedError) { refused.value }
    assert_nil lock.shut(Deadline.in(10_000))
    go_on << true
    first.join

    assert_equal [true, :in], closer.value
    assert_raises(Penstock::ProducerClosedError) { lock.hold { flunk } }
  end

  test "a shut that times out doesn't have the lock" do
    first, go_on = occupant

    assert_equal false, lock.shut(Deadline.in(0))
    refute_predicate lock, :mine?
  ensure
    go_on << true
    first.join
  end
end
