# frozen_string_literal: true

require "test_helper"
require "penstock/iterator"
require "support/fake_reading"
require "support/virtual_clock"

module Penstock
  # The arguments of an iterator's block, and how it ends the iteration.
  class IteratorIterationTest < TestCase
    KAFKA = {"bootstrap.servers": "nowhere:1"}.freeze

    # An iterator over logs in memory.
    def iterator(topics, logs, fake: TestSupport::FakeReading.new(logs), **options)
      @fake = fake
      @opened = 0
      Iterator.new(topics, settings: {**KAFKA, **options.delete(:settings).to_h}, **options)
    end

    def connected(&block)
      open = lambda do |properties, **, &inner|
        @opened += 1
        @share = properties["queued.max.messages.kbytes"]
        inner.call(@fake)
      ensure
        @fake.close
      end
      Reading::Connection.stub(:open, open, &block)
    end

    def logs(*sizes) = sizes.each_with_index.to_h { |size, partition| [["t", partition], (0...size).to_a] }

    test "[iterator modes] all partitions are read, and a second iteration reads them again" do
      one = iterator("t", logs(4, 2))
      connected do
        2.times {
          assert_equal({0 => [0, 1, 2, 3], 1 => [0, 1]}, one.group_by(&:partition).transform_values { |list|
            list.map(&:offset)
          })
        }
      end
      assert_equal 2, @opened
    end

    test "many partitions share the memory: they get a connection of their own" do
      one = iterator("t", Array.new(32) { |partition| [["t", partition], [0]] }.to_h)
      connected { assert_equal 32, one.count }

      assert_equal [2, "2048"], [@opened, @share]
    end

    test "a block with two arguments gets the iterator; Enumerable and methods get messages only" do
      one = iterator("t", logs(3))
      connected do
        one.each { |message, iterator| assert_equal [Message, one], [message.class, iterator] }
        assert_equal [%w[t/0/0], %w[t/0/0 t/0/1]], [[one.first.uid], one.first(2).map(&:uid)]
        assert_equal [0, 1, 2], one.map(&:offset)
        assert_equal [0, 1], one.lazy.map(&:offset).first(2)
        assert_kind_of Enumerator, one.each
        assert_equal [0, 2, 1], one.each.to_a.values_at(0, 2, 1).map(&:offset)
      end
    end

    test "[iterator reuse] after break the next iteration is complete" do
      one = iterator("t", logs(5))
      connected do
        assert_equal :left, one.each { break :left }
        assert_equal 5, one.count
      end
    end

    test "[iterator reuse] an error of the block ends the iteration, and the next one is complete" do
      one = iterator("t", logs(5))
      connected do
        assert_raises(ZeroDivisionError) { one.each { 1 / 0 } }
        assert_equal 5, one.count
      end
    end

    test "stop ends the iteration after the current message, and doesn't affect the next one" do
      one = iterator("t", logs(5))
      connected do
        seen = []
        one.each do |message, iterator|
          seen << message.offset
          iterator.stop if message.offset == 1
        end
        assert_equal [0, 1], seen
        assert_equal 5, one.count
      end
    end

    test "the rest of a partition, the current or another one, is left out" do
      one = iterator("t", logs(9, 9))
      connected do
        seen = Hash.new { |known, partition| known[partition] = [] }
        one.each do |message, iterator|
          seen[message.partition] << message.offset
          iterator.stop_current_partition if message.partition == 0 && message.offset == 1
          iterator.stop_partition(:t, 1) if message.partition == 1 && message.offset == 4
        end
        assert_equal({0 => [0, 1], 1 => [0, 1, 2, 3, 4]}, seen)
      end
    end

    test "stopping a partition returns whether it was still being read" do
      one = iterator("t", logs(9, 1))
      connected do
        one.each do |message, iterator|
          next unless message.partition.zero? && message.offset == 8
          assert_equal [false, false, true],
            [iterator.stop_partition("t", 1), iterator.stop_partition("x", 0), iterator.stop_current_partition]
        end
      end
      assert_raises(ArgumentError) { one.stop_partition("t", 0) }
      assert_nil one.stop
    end

    test "max_messages ends the iteration, over all partitions" do
      one = iterator("t", logs(9, 9), max_messages: 5)
      connected { 2.times { assert_equal 5, one.count } }
    end

    test "messages of a partition that was stopped don't count for max_messages" do
      one = iterator("t", logs(9, 9), max_messages: 4)
      connected do
        seen = []
        one.each do |message, iterator|
          seen << message.uid
          iterator.stop_current_partition if message.partition.zero?
        end
        assert_equal %w[t/0/0 t/1/0 t/1/1 t/1/2], seen
      end
    end

    test "[iterator EOF/tail] what follows yields new records, and nil while there are none" do
      one = iterator("t", logs(2), follow: true, yield_nil: true, max_wait_time: 1)
      connected do
        seen = []
        one.each do |message, iterator|
          seen << message&.offset
          iterator.stop if seen.count(nil) == 2
          @fake.log("t", 0).offsets, @fake.log("t", 0).high = [0, 1, 2], 3 if message.nil?
        end
        assert_equal [0, 1, nil, 2, nil], seen
      end
    end

    test "[iterator EOF/tail] nil means that nothing has arrived for max_wait_time: a wake-up for something else doesn't count" do
      waits = []
      one = iterator("t", logs(2), follow: true, yield_nil: true, max_wait_time: 40)
      connected do
        @fake.define_singleton_method(:wait) do |limit_ms|
          waits << limit_ms
          (waits.size < 5) ? [] : super(limit_ms)
        end
        assert_equal [0, 1], one.first(2).map(&:offset)
      end
      assert_operator waits.max, :<=, 40
    end

    test "[iterator EOF/tail] the time that the block takes isn't time without a record" do
      one = iterator("t", logs(7), follow: true, yield_nil: true, max_wait_time: 1)
      clock = VirtualClock.new
      seen = []
      connected do
        Deadline.stub(:in, ->(ms) { Deadline.new(clock.monotonic_ms + ms, clock: clock) }) do
          one.each do |message, iterator|
            seen << message&.offset
            clock.advance(5)
            iterator.stop if seen.size == 7
          end
        end
      end
      assert_equal (0...7).to_a, seen
    end

    test "[iterator EOF/tail] a migrated enable.partition.eof: false follows too" do
      one = iterator({"t" => :latest}, logs(2), settings: {"enable.partition.eof": false})
      connected do
        @fake.waiting = -> { @fake.log("t", 0).offsets, @fake.log("t", 0).high = [0, 1, 2], 3 }
        assert_equal 2, one.first.offset
      end
    end

    test "[iterator modes] marks are committed at the end, also after break and after an error; `true` continues there" do
      one = iterator({"t" => {0 => true}}, logs(6), settings: {"group.id": "report"})
      connected do
        one.each { |message, iterator| iterator.mark_as_consumed(message) && break if message.offset == 1 }
        assert_raises(IOError) { one.each { |message, iterator| iterator.mark_as_consumed(message) && raise(IOError) } }
        assert_equal [3, 4, 5], one.map(&:offset)
      end
      assert_equal [[["t", 0, 2, nil, 3]], [["t", 0, 3, nil, 3]]], @fake.commits
    end

    test "mark_as_consumed! commits at once" do
      one = iterator("t", logs(2), settings: {"group.id": "report"})
      connected { one.each { |message, iterator| assert iterator.mark_as_consumed!(message) } }

      assert_equal [1, 2], @fake.commits.map { |rows| rows[0][2] }
      assert_raises(ArgumentError) { one.mark_as_consumed(nil) }
    end

    test "a thread that is killed commits its marks and ends" do
      one = iterator("t", logs(2), settings: {"group.id": "report"}, follow: true, yield_nil: true)
      ready = Thread::Queue.new
      connected do
        thread = Thread.new do
          one.each do |message, iterator|
            iterator.mark_as_consumed(message) if message
            ready << true unless message
          end
        end
        ready.pop
        thread.kill.join
      end
      assert_equal [[["t", 0, 2, nil, 3]]], @fake.commits
    end

    test "[iterator modes] the application's deserializers are used, by topic" do
      upcase = Serialization::Deserializers.new(payload: ->(message) { "<#{message.raw_payload}>" })
      Iterator.stub(:surroundings, -> { -> { {kafka: KAFKA, deserializers: ->(topic) { upcase if topic == "t" }} } }) do
        one = iterator("t", logs(2))
        connected { assert_equal %w[<0> <1>], one.map(&:payload) }
      end
    end
  end
end
