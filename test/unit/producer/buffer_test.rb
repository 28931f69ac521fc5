# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/buffer"

class ProducerBufferTest < Penstock::TestCase
  def setup
    @buffer = Penstock::Producer::Buffer.new
  end

  test "take empties the buffer and keeps the order" do
    @buffer.add([1, 2])
    @buffer.add([3])

    assert_equal [1, 2, 3], @buffer.take.fresh
    assert_predicate @buffer.take, :empty?
    assert_equal 0, @buffer.size
  end

  test "messages put back come first and are marked as run through middleware" do
    @buffer.add([3])
    @buffer.put_back([1, 2])
    taken = @buffer.take

    assert_equal [[1, 2], [3]], [taken.ready, taken.fresh]
  end

  test "messages put back twice keep their order" do
    @buffer.put_back([3])
    @buffer.put_back([1, 2])

    assert_equal [1, 2, 3], @buffer.to_a
  end

  test "[Buffer race] threads that add and take at once lose nothing" do
    taken = Queue.new
    adders = Array.new(8) { |thread| Thread.new { 500.times { |index| @buffer.add([[thread, index]]) } } }
    taker = Thread.new { @buffer.take.fresh.each { |entry| taken << entry } while adders.any?(&:alive?) }
    [*adders, taker].each(&:join)
    @buffer.take.fresh.each { |entry| taken << entry }

    all = Array.new(taken.size) { taken.pop }
    assert_equal 4_000, all.uniq.size
    8.times { |thread| assert_equal (0...500).to_a, all.select { |owner, _| owner == thread }.map(&:last) }
  end

  test "size_or_busy never waits" do
    lock = @buffer.instance_variable_get(:@lock)
    @buffer.add([1])

    assert_equal 1, @buffer.size_or_busy
    lock.synchronize { assert_equal "busy", Thread.new { @buffer.size_or_busy }.value }
    refute_predicate lock, :locked?
  end
end
