# frozen_string_literal: true

require "test_helper"
require "penstock/processing/failure/window"

module Penstock
  class WindowTest < TestCase
    Unit = Struct.new(:sequence)

    def setup
      @window = Processing::Failure::Window.new(20, 0.5)
    end

    # @param sequence [Object] each record has its own unless it is given
    def begin_record(sequence = Object.new) = [@window.number_records(1, Unit.new(sequence)), sequence]

    def fail_record(began, names: ["Boom"], now: 0, record: Object.new)
      number, sequence = began
      @window.failed(number, record, sequence, names, now)
    end

    # @param pattern [String] records in the order in which they begin: x fails, o does not
    # @return [Integer, nil] number of the failure that reached the share, from 1
    def reached(pattern, sequences: nil, **how)
      began = pattern.chars.each_with_index.map do |char, index|
        [char, sequences ? begin_record(sequences[index % sequences.size]) : begin_record]
      end
      bad = began.filter_map { |char, each| each if char == "x" }
      bad.index { |each| fail_record(each, **how) }&.succ
    end

    test "the share is reached when ten of twenty records that began one after another have failed" do
      assert_equal 10, reached("x" * 10)
      assert_equal 10, reached("o" * 500 + "xo" * 12)
    end

    test "failures further apart don't add up" do
      assert_nil reached(("x" * 9 + "o" * 20) * 5)
      assert_nil reached("xoo" * 100)
    end

    test "one failure in five never reaches it, however many there are" do
      assert_nil reached("xoooo" * 400)
      assert_nil reached("xxxxoooooooooooooooo" * 60)
    end

    # Fifty workers begin at once: the ten bad records fail at once, the good ones take their time.
    test "records are ordered by when they began: bad records that fail first aren't a majority" do
      assert_nil reached("oooox" * 10)
    end

    test "a record that was numbered and did not run doesn't count as a success" do
      numbers = Array.new(10) { |lane| @window.number_records(100, Unit.new(lane)) }
      found = numbers.each_with_index.map do |number, lane|
        @window.failed(number, lane, lane, ["Boom"], 0).tap { @window.unused(number + 1, 99) }
      end
      assert_equal [nil] * 9 + ["Boom"], found
    end

    test "batches that fail half-way count the records that succeeded" do
      numbers = Array.new(30) { |lane| @window.number_records(100, Unit.new(lane)) }
      found = numbers.each_with_index.map do |number, lane|
        @window.failed(number + 50, lane, lane, ["Boom"], 0).tap { @window.unused(number + 51, 49) }
      end
      assert_empty found.compact
    end

    test "a key, or a partition in order, counts only for its part" do
      40.times { |key| begin_record(key) }
      assert_nil reached("x" * 200, sequences: [7, 27]), "two of forty keys have nothing but bad records"
      @window.clear
      assert_equal 10, reached("x" * 10, sequences: (0..9).to_a)
    end

    test "a single sequence counts in full, each of six counts twice" do
      assert_equal 10, reached("x" * 10, sequences: [:only])
      @window = Processing::Failure::Window.new(20, 0.5)
      6.times { |key| begin_record(key) }
      assert_nil reached("x" * 100, sequences: [1, 2, 3, 4])
      @window.clear
      assert_equal 10, reached("x" * 10, sequences: [1, 2, 3, 4, 5])
    end

    # By key with retries: the bad keys are slow, so only their records remain when all others are done.
    test "keys that have failed already add nothing, however many they are, until one of their records succeeds" do
      500.times do |key|
        began = begin_record(key)
        assert_nil fail_record(began) if key % 20 == 0
      end
      assert_nil reached("x" * 500, sequences: (0..480).step(20).to_a)
      (0..180).step(20) { |key| @window.sequence_succeeded(key) }
      assert_equal 10, reached("x" * 10, sequences: (0..180).step(20).to_a)
    end

    # A partition without parallel keys fails first with the error that shows the outage, then with one that follows from it.
    test "the part of a sequence is counted for each kind of error: other errors before an outage don't use it up" do
      begin_record(:only)
      assert_nil fail_record(begin_record(:only), names: ["Other"])
      assert_equal 10, reached("x" * 20, sequences: [:only])
      @window = Processing::Failure::Window.new(20, 0.5)
      10.times { |key| begin_record(key) }
      9.times { |key| assert_nil fail_record(begin_record(key), names: ["Other"]) }
      assert_equal 10, reached("x" * 10, sequences: (0..9).to_a)
    end

    test "errors with a common superclass count once for it, and once for each class" do
      keys = (0..9).each { |key| begin_record(key) }.to_a
      5.times { |key| assert_nil fail_record(begin_record(key), names: %w[Api::Down Api::Error]) }
      found = keys.map { |key| fail_record(begin_record(key), names: %w[Api::Slow Api::Error]) }
      assert_equal [nil] * 9 + ["Api::Slow"], found
    end

    # Bad records of a key fail in several ways; only they are left when the records of all other keys are done.
    test "keys with nothing but bad records add nothing for any error they have had before" do
      500.times do |key|
        began = begin_record(key)
        next unless key % 20 == 0
        assert_nil fail_record(began, names: ["A"])
        assert_nil fail_record(begin_record(key), names: ["B"]) if key % 40 == 0
      end
      bad = (0..480).step(20).to_a
      assert_nil reached("x" * 500, sequences: bad, names: ["A"])
      assert_nil reached("x" * 500, sequences: bad.select { |key| key % 40 == 0 }, names: ["B"])
    end

    test "a kind of error last seen in a sequence more than an hour ago counts there again" do
      40.times { |key| begin_record(key) }
      keys = (0..9).to_a
      keys.each { |key| assert_nil fail_record([@window.take_numbers(30), key], names: ["A"]) }
      assert_nil reached("x" * 20, sequences: keys, names: ["A"], now: 1_800_000)
      keys.each { |key| assert_nil fail_record([@window.take_numbers(30), key], names: ["B"], now: 3_600_000) }
      assert_nil reached("x" * 20, sequences: keys, names: ["A"], now: 5_000_000)
      keys.each { |key| assert_nil fail_record([@window.take_numbers(30), key], names: ["B"], now: 7_200_000) }
      assert_equal 10, reached("x" * 20, sequences: keys, names: ["A"], now: 9_000_000)
    end

    test "records without a sequence each count" do
      500.times { @window.number_records(1, Unit.new(nil)) }
      found = Array.new(10) { |record| @window.failed(@window.number_records(1, Unit.new(nil)), record, nil, ["Boom"], 0) }
      assert_equal [nil] * 9 + ["Boom"], found
      refute_predicate @window, :failing?
    end

    test "sequences last seen more than an hour ago don't count any more" do
      40.times { |key| begin_record(key) }
      fail_record(begin_record(:late), now: 10)
      assert_nil reached("x" * 12, sequences: [:late], now: 3_600_009)
      assert_equal 10, reached("x" * 10, sequences: [:late], now: 8_000_000)
    end

    test "the same record counts once" do
      same = Object.new
      assert_nil reached("x" * 50, record: same)
    end

    test "failures that are more than an hour apart aren't related" do
      found = Array.new(30) { |index| fail_record(begin_record(:only), now: index * 450_000) }
      assert_empty found.compact
    end

    test "the common name is found, the class before its superclasses" do
      assert_equal ["Api::Error"], Array.new(10) { |index|
        fail_record(begin_record, names: [index.even? ? "Api::Down" : "Api::Slow", "Api::Error"])
      }.compact
      @window.clear
      assert_equal ["Api::Down"], Array.new(10) { fail_record(begin_record, names: ["Api::Down", "Api::Error"]) }.compact
    end

    test "two alternating classes reach the share only if one of them does" do
      classes = %w[A B].cycle
      assert_equal "A", Array.new(20) { fail_record(begin_record, names: [classes.next]) }.compact.first
      @window.clear
      classes = %w[A B C].cycle
      assert_empty Array.new(60) { fail_record(begin_record, names: [classes.next]) }.compact
    end

    test "a cleared window is empty" do
      reached("x" * 9)
      @window.clear
      assert_equal 10, reached("x" * 10)
    end
  end
end
