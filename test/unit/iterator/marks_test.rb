# frozen_string_literal: true

require "test_helper"
require "penstock/iterator"
require "penstock/messages/memory_batch"
require "support/fake_reading"
require "support/virtual_clock"

module Penstock
  # When marks of an iteration are committed.
  class IteratorMarksTest < TestCase
    def record(offset, partition = 0)
      Message.new(Messages::MemoryBatch.new("t", partition, [Messages::MemoryBatch::Row.new(offset: offset, leader_epoch: 4)]), 0)
    end

    def marks(group = "g")
      @fake = TestSupport::FakeReading.new({["t", 0] => [0, 1], ["t", 1] => [0, 1]})
      @clock = VirtualClock.new
      Iterator::Marks.new(@fake, group, clock: @clock)
    end

    test "marks wait for the interval or the end, and the last one of each partition is committed" do
      marks = marks()
      [record(0), record(1), record(0, 1)].each { |one| marks.add(one) }
      marks.commit_due
      assert_empty @fake.commits

      @clock.advance(5_000)
      2.times { marks.commit_due }
      assert_equal [[["t", 0, 2, nil, 4], ["t", 1, 1, nil, 4]]], @fake.commits
    end

    test "without a new mark nothing is committed again" do
      marks = marks()
      marks.commit
      marks.add(record(0))
      2.times { marks.commit }

      assert_equal 1, @fake.commits.size
    end

    test "[iterator modes] an iterator without a group refuses marks, and names the setting" do
      assert_match(/group\.id/, assert_raises(ArgumentError) { marks(nil).add(record(0)) }.message)
    end

    test "a group with members refuses the commit, with what to do; at an interrupt that doesn't raise" do
      marks = marks()
      marks.add(record(0))
      @fake.stub(:commit, ->(*) { raise Native.error_for(Native.error_number(:unknown_member_id), "the commit") }) do
        error = assert_raises(KafkaError) { marks.commit }

        assert_equal :unknown_member_id, error.code
        assert_match(/the group g has members/, error.message)
        marks.try_commit
      end
    end
  end
end
