# frozen_string_literal: true

require "test_helper"
require "penstock/config/memory_budget"

class MemoryBudgetTest < Penstock::TestCase
  MIB = 1024 * 1024

  test "few partitions share the budget, but none fetches more than one MiB at once" do
    properties = budget(6).properties

    assert_equal "10922", properties["queued.max.messages.kbytes"]
    assert_equal MIB.to_s, properties["fetch.message.max.bytes"]
  end

  test "many partitions get at least the size of a fetch" do
    properties = budget(2_000).properties

    assert_equal "256", properties["queued.max.messages.kbytes"]
    assert_equal (256 * 1024).to_s, properties["fetch.message.max.bytes"]
  end

  test "64 partitions are assumed while the number is unknown" do
    assert_equal budget(64).properties, budget(nil).properties
    assert_equal budget(64).properties, budget(0).properties
  end

  test "the worst case includes librdkafka's overhead per record, and one whole fetch" do
    share = 64 * MIB / 64
    records = share / 1_000 + share / 1_000 + 1

    assert_equal 64 * records * (1_000 + 20 + 330), budget(64).worst_case_bytes(value: 1_000, key: 20)
  end

  private

  def budget(lanes) = Penstock::Config::MemoryBudget.new(64 * MIB, lanes)
end
