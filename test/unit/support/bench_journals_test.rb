# frozen_string_literal: true

require "test_helper"
require_relative "../../../benchmark/harness/journals"

module Penstock
  # How bin/bench evaluates the journals of a run with failing brokers.
  class BenchJournalsTest < TestCase
    SECOND = 1_000_000_000

    test "a gap belongs to the partitions that moved when another process consumed the record after it" do
      journals = journals(["0 0 10 1", "0 1 11 1", "0 2 15 2", "1 0 10 1", "1 1 12 1"])

      assert_equal [4.0, 2.0], [journals.longest_gap(moved: true), journals.longest_gap(moved: false)]
      assert_equal 4.0, journals.longest_gap
    end

    test "gaps that began before the measurement don't count" do
      journals = journals(["0 0 1 1", "0 1 9 1", "0 2 10 1"], since: 2)

      assert_equal 1.0, journals.longest_gap
    end

    test "a record that is consumed again ends no gap, and counts once as consumed twice" do
      journals = journals(["0 0 10 1", "0 1 11 1", "0 0 13 2", "0 1 14 2", "0 1 15 3", "0 2 16 3"])

      assert_equal [5.0, 2], [journals.longest_gap, journals.doubled]
    end

    test "a record that was consumed again while the group formed doesn't count" do
      assert_equal [0, 1], [3, 2].map { |since| journals(["0 0 1 1", "0 0 2 2"], since: since).doubled }
    end

    test "records of the log that no member consumed are lost" do
      assert_equal 2, journals(["0 0 10 1", "0 0 11 1", "0 3 12 1"]).lost(4)
    end

    test "a record waits from its acknowledgement, not from the gap of the producer before it" do
      journals = journals(["0 0 10 1", "0 1 18 1"], acknowledged: ["0 0 10", "0 1 17.5"])

      assert_equal [8.0, 0.5, 7.5], [journals.longest_gap, journals.longest_wait, journals.longest_fed_gap]
    end

    test "a record acknowledged before a gap waited no longer than the gap" do
      journals = journals(["0 0 10 1", "0 1 18 1", "0 2 19 1"], acknowledged: ["0 0 10", "0 1 11", "0 2 12"])

      assert_equal [7.0, 1.0], journals.gaps.map(&:waited)
    end

    test "a group lags after the one that consumed the same record first" do
      slow, quick = ["0 0 12 1", "0 1 14 1"], ["0 0 10 2", "0 1 13 2"]
      earliest = journals(slow + quick).earliest

      assert_equal [2.0, 0.0], [journals(slow), journals(quick)].map { |group| group.longest_behind(earliest) }
    end

    test "a record consumed before its acknowledgement has not waited" do
      assert_equal 0.0, journals(["0 0 10 1", "0 1 11 1"], acknowledged: ["0 0 10", "0 1 12"]).longest_wait
    end

    test "silence is the time without a record in any partition" do
      assert_equal 1.0, journals(["0 0 10 1", "1 0 11 1", "0 1 12 1"]).longest_silence
    end

    test "unfinished lines and records that failed are left out" do
      assert_equal [[0, 1, 2]], Bench::Journals.parse("0 1 2\nfailed\n0 2").map { |record| record.to_a.first(3) }
    end

    private

    def journals(consumed, acknowledged: [], since: 0)
      Bench::Journals.new(records(consumed), records(acknowledged), since_ns: since * SECOND)
    end

    # Lines with times in seconds.
    def records(lines)
      Bench::Journals.parse(lines.map { |line|
        partition, offset, at, pid = line.split
        "#{partition} #{offset} #{(at.to_f * SECOND).to_i} #{pid}\n"
      }.join)
    end
  end
end
