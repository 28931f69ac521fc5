# frozen_string_literal: true

require "test_helper"
require "support/executing"
require "penstock/execution/retry_offset"
require "penstock/execution/threads/pool"

module Penstock
  class RetryOffsetTest < TestCase
    include TestSupport::Executing

    Ledger = Struct.new(:base)

    def executor(middleware, size)
      Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), threads: @threads, concurrency: size, priority: 0)
    end

    test "the error of a call has the offset of its first record, or of the first after a mark" do
      executing do
        define_method(:consume) do
          mark_as_consumed(messages.to_a[1]) if messages.first.offset == 20
          raise "no database"
        end
      end
      run_unit(10..13)
      run_unit(20..23)

      assert_equal [10, 22], drained(@errors).map { |each| each[:seek_offset] }
    end

    test "with manual offsets it is the first that no earlier call has marked; a hook's is that of its partition" do
      executing { nil }
      lane = lane()
      lane.define_singleton_method(:ledger) { Ledger.new(4) }
      assert_equal 10, Execution::RetryOffset.of(unit(lane, 10..12))
      @topic.define_singleton_method(:manual_offset_management?) { true }
      assert_equal 4, Execution::RetryOffset.of(unit(lane, 10..12))
      lane.marks.mark(6)
      assert_equal 7, Execution::RetryOffset.of(unit(lane, 10..12))
      assert_equal 4, Execution::RetryOffset.of(unit(lane, [], action: :revoked))
    end

    test "a mark in a unit of parallel keys counts in that unit only" do
      executing { nil }
      lane = lane()
      marked, other = unit(lane, [10, 12]), unit(lane, [11, 13])
      cells = [marked, other].map do |each|
        Consumer::UnitMarks.new(lane.marks).tap do |cell|
          each.messages.batch.context = Messages::Context.new(@topic.deserializers, 5_000, cell)
        end
      end
      cells.first.mark(10)

      assert_equal [11, 11], [marked, other].map { |each| Execution::RetryOffset.of(each) }
      cells.first.mark(12)
      assert_equal [13, 11], [marked, other].map { |each| Execution::RetryOffset.of(each) }
    end
  end
end
