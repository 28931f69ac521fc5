# frozen_string_literal: true

require "test_helper"
require "penstock/reading/part"
require "penstock/reading/ranges"
require "support/fake_reading"
require "support/virtual_clock"

module Penstock
  # Ranges of many partitions over one connection.
  class ReadingRangesTest < TestCase
    def read(connection, *parts)
      found = parts.to_h { |part| [part.key, []] }
      Reading::Ranges.new(connection, parts).each do |part, batch, first, count|
        found[part.key].concat(batch.offsets.slice(first, count))
      end
      found
    end

    def part(partition, from, to) = Reading::Part.new("orders", partition, from, to)

    def connection(logs, **options)
      TestSupport::FakeReading.new(logs.transform_keys { |partition| ["orders", partition] }, **options)
    end

    test "property: of any logs with gaps exactly the records of the ranges are read, and nothing stays assigned" do
      random = Random.new(7)
      200.times do
        logs = Array.new(random.rand(1..5)) { (0...random.rand(0..40)).select { random.rand < 0.6 } }
        highs = logs.map { |offsets| (offsets.last || -1) + 1 + random.rand(0..4) }
        given = logs.each_with_index.to_h { |offsets, index|
          [index, TestSupport::FakeReading::Log.new(offsets, 0, highs[index])]
        }
        fake = connection(given, slice: random.rand(1..7), eof_apart: random.rand < 0.5)
        ranges = highs.map { |high| [random.rand(0..high), random.rand(0..high)].sort }
        found = read(fake, *ranges.each_with_index.map { |(from, to), index| part(index, from, to) })

        expected = logs.zip(ranges).map { |offsets, (from, to)| offsets.select { |one| one >= from && one < to } }
        assert_equal expected, found.values
        assert_empty fake.assigned
      end
    end

    test "partitions take turns" do
      order = []
      fake = connection({0 => (0...6).to_a, 1 => (0...6).to_a}, slice: 2)
      Reading::Ranges.new(fake, [part(0, 0, 6), part(1, 0, 6)]).each { |one, *| order << one.partition }

      assert_equal [0, 1, 0, 1, 0, 1], order
    end

    test "a partition that is finished is fetched no longer while others are read" do
      fake = connection({0 => (0...3).to_a, 1 => (0...9).to_a})
      left = []
      Reading::Ranges.new(fake, [part(0, 0, 2), part(1, 0, 9)]).each { left << fake.assigned.map(&:last) }

      assert_equal [[1], [1], [1], []], left
    end

    test "a partition can be stopped; one that isn't read can't" do
      fake = connection({0 => (0...9).to_a, 1 => (0...3).to_a})
      ranges = Reading::Ranges.new(fake, [part(0, 0, 9), part(1, 0, 3)])
      ranges.turn(0) { nil }

      assert ranges.stop("orders", 0)
      refute ranges.stop("orders", 0)
      refute ranges.stop("orders", 7)
      assert_equal [["orders", 1]], fake.assigned
    end

    test "a log that has become shorter ends its range where it ends now" do
      fake = connection({0 => (0...6).to_a})
      fake.waiting = -> { fake.log("orders", 0).offsets, fake.log("orders", 0).high = [0, 1], 2 }

      assert_equal [0, 1], read(fake, part(0, 0, 6)).values.first
    end

    test "an end that only this broker has isn't one: the rest is read when it arrives" do
      fake = connection({0 => TestSupport::FakeReading::Log.new([0, 1], 0, 2)})
      ranges = Reading::Ranges.new(fake, [part(0, 0, 4)])
      found = []
      take = -> { ranges.turn(0) { |_part, batch, first, count| found.concat(batch.offsets.slice(first, count)) } }
      fake.stub(:ends, ->(pairs) { pairs.to_h { |pair| [pair, 4] } }) { 2.times { take.call } }
      refute_predicate ranges, :finished?

      fake.log("orders", 0).offsets, fake.log("orders", 0).high = [0, 1, 2, 3], 4
      take.call
      assert_equal [0, 1, 2, 3], found
      assert_predicate ranges, :finished?
    end

    test "the records before an error are passed on, then it is raised" do
      fake = connection({0 => (0...6).to_a})
      ranges = Reading::Ranges.new(fake, [part(0, 0, 6)])
      ranges.turn(0) { nil }
      fake.log("orders", 0).error = [Native.error_number(:topic_authorization_failed), "no"]

      assert_equal :topic_authorization_failed, assert_raises(KafkaError) { ranges.turn(0) { flunk } }.code
    end

    test "a partition without an answer is named after the time limit, with the client's last error" do
      fake = connection({0 => []})
      fake.log("orders", 0).high = 4
      fake.define_singleton_method(:wait) { |_limit| [] }
      fake.timeout_ms = 0
      fake.last_error = Native.error_for(Native.error_number(:transport), "broker 1", "refused")
      error = assert_raises(WaitTimeoutError) { read(fake, part(0, 0, 4)) }

      assert_match(%r{nothing arrived from orders/0 for 0 ms: .*refused}, error.message)
    end

    test "the time that the block takes isn't time without an answer" do
      fake = connection({0 => (0...6).to_a})
      fake.timeout_ms = 1_000
      clock = VirtualClock.new
      Deadline.stub(:in, ->(ms) { Deadline.new(clock.monotonic_ms + ms, clock: clock) }) do
        ranges = Reading::Ranges.new(fake, [part(0, 0, 6)])
        ranges.turn(0) { clock.advance(5_000) }

        assert_nil ranges.expect_progress
        clock.advance(1_000)
        assert_raises(WaitTimeoutError) { ranges.expect_progress }
      end
    end

    test "a topic that was deleted meanwhile is an error, also without an end; an unreachable cluster is none there" do
      fake = connection({0 => []})
      fake.timeout_ms = 0
      ranges = Reading::Ranges.new(fake, [part(0, 0, nil)])
      failing = ->(code, &block) {
        fake.stub(:partitions, ->(*) {
          raise Native.error_for(Native.error_number(code), "orders")
        }, &block)
      }

      assert_nil ranges.expect_progress
      assert_nil(failing.call(:timed_out) { ranges.expect_progress })
      error = failing.call(:unknown_topic_or_part) { assert_raises(KafkaError) { ranges.expect_progress } }
      assert_equal :unknown_topic_or_part, error.code
    end
  end
end
