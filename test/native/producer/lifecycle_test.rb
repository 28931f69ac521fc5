# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

class NativeProducerLifecycleTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  ROUNDS = Integer(ENV.fetch("PENSTOCK_LIFECYCLE_ROUNDS", "1000"))
  # Memory that an allocator keeps for itself, in KiB.
  GROWTH_KIB = 16_000

  def resident_kib
    File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
  end

  def descriptors
    Dir.children("/proc/self/fd").size
  end

  def threads
    Dir.children("/proc/self/task").size
  end

  # A memory checker keeps freed memory.
  def memory_checked?
    Penstock::TestSupport::Wait::TIME_FACTOR > 1
  end

  def round
    native = Penstock::Native::Producer.new({"bootstrap.servers" => NOBODY})
    native.open_topic("things")
    dispatch(native, "x" * 1_000, headers: {"a" => "b"}, label: "label")
    native.close(0)
  end

  test "opening and closing a producer repeatedly leaks no memory, thread or descriptor" do
    skip "needs /proc" unless File.directory?("/proc/self/task")
    (ROUNDS / 10).times { round }
    GC.start
    before = [resident_kib, descriptors, threads]
    ROUNDS.times { round }
    GC.start
    wait_until(10, "threads to end") { threads <= before.last }

    assert_operator descriptors, :<=, before[1]
    assert_operator resident_kib - before[0], :<, GROWTH_KIB, "KiB more after #{ROUNDS} producers" unless memory_checked?
    assert_equal 0, Penstock::Native.thread_count
  end

  test "a producer that wasn't closed is ended when it is garbage-collected" do
    before = Penstock::Native.thread_count
    # In a thread of its own, so that no reference stays on this one's stack.
    Thread.new { 5.times { Penstock::Native::Producer.new({"bootstrap.servers" => NOBODY}) } }.join

    assert_operator Penstock::Native.thread_count, :>, before
    wait_until(20, "collected producers") do
      GC.start
      Penstock::Native.thread_count == before
    end
    assert_equal before, Penstock::Native.thread_count
  end

  test "a delivery keeps its producer alive, and outlives its own report" do
    deliveries = Array.new(100) { dispatch(stranded_producer(message_timeout_ms: 10_000)) }.last(1)
    producers.each { |native| native.close(0) }
    producers.clear
    GC.start

    assert_equal [true], deliveries.map(&:done?)
    assert_equal ["things"], deliveries.map(&:topic)
  end

  test "dropped deliveries are freed with their reports" do
    native = producer
    20.times do
      1_000.times { dispatch(native) }
      GC.start
    end

    assert native.flush(20_000)
    assert_equal [20_000, 0], native.counts
  end
end
