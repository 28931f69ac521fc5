# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/dispatch"
require "penstock/outbox/outage"
require "penstock/outbox/plan"

class OutboxOutageTest < Penstock::TestCase
  Turn = Struct.new(:done, :stuck, :full) do
    def resolved? = full || done.any?
  end

  def setup
    @outage = Penstock::Outbox::Outage.new(most: 3)
  end

  test "it is the cluster if the turn that reads past the stuck rows finds no more rows" do
    assert_equal :late, out(7)
    assert_predicate @outage, :probing?
    assert_equal [7], @outage.skip.strands

    assert_equal :late, @outage.update(nil)
    refute_predicate @outage, :probing?
    assert_nil @outage.update(nil), "and nothing is wrong with an empty table"
  end

  test "rows that get stuck while others are left out are left out too" do
    out(7)
    out(8, nil)

    assert_equal [[7, 8], [2]], [@outage.skip.strands, @outage.skip.ids]
  end

  test "rows that are left out are known without their payload, until a row is sent; then they are forgotten" do
    out(7)
    assert_equal [[{"id" => 1, "topic" => "t", "attempts" => 2}, [], :late]],
      @outage.left_out.map { |fate| [fate.failed, fate.rest, fate.error] }
    assert_nil @outage.update(Turn.new([1], []))

    refute_predicate @outage, :probing?
    assert_empty @outage.left_out
  end

  test "refused rows after the stuck ones prove nothing" do
    out(7)
    assert_nil @outage.update(Turn.new([], []))

    assert_predicate @outage, :probing?
    assert_equal 1, @outage.left_out.size
  end

  test "with too many rows to leave out, the next turn parks them: probing ends, although nothing was sent" do
    out(1, 2, 3)
    refute_predicate @outage, :full?
    out(4)
    assert_predicate @outage, :full?

    assert_equal :late, @outage.update(Turn.new([], [], true))
    refute_predicate @outage, :probing?
    refute_predicate @outage, :full?
  end

  private

  def out(*strands)
    @outage.update(Turn.new([], strands.each.with_index(1).map { |strand, id| fate(id, strand) }))
  end

  def fate(id, strand)
    row = {"id" => id, "strand" => strand, "topic" => "t", "attempts" => 2, "payload" => "large"}
    Penstock::Outbox::Dispatch::Fate.new(Penstock::Outbox::Plan::Chain.new([id, 99], [100], false), [], row, :late, :stuck)
  end
end
