# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/memory/kafka/log"

module Penstock
  class MemoryLogTest < TestCase
    def setup
      super
      @log = Testing::Memory::Kafka::Log.new
      3.times { |number| @log.append(number.to_s) }
    end

    def fetched(offset) = @log.fetch(offset, 10).map(&:offset)

    test "records are fetched from an offset on, over offsets without a record" do
      @log.gap(2)
      @log.append("after")
      assert_equal [1, 2, 5], fetched(1)
      assert_equal [5], fetched(3)
      assert_equal 6, @log.high
    end

    test "retention moves the beginning, and a fetch before it is out of range" do
      assert_equal [0, 1], @log.trim(2).map(&:offset)
      refute @log.include?(1)
      assert_equal [2], fetched(0)
    end

    test "an unclean election moves the end back and begins another life" do
      assert_equal [1, 2], @log.truncate(1).map(&:offset)
      assert_equal [1, 1, 1, 1], [@log.high, @log.cut_at, @log.life, @log.leader_epoch]
      assert_equal 1, @log.append("other").offset
    end

    test "a topic that was created again is empty" do
      @log.recreate
      assert_equal [0, 0, 1], [@log.low, @log.high, @log.life]
      assert_empty fetched(0)
    end
  end
end
