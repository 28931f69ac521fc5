# frozen_string_literal: true

require "test_helper"
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

  test "it is the cluster when the turn behind what is stuck finds nothing more" do
    assert_equal :late, out(7)
    assert_predicate @outage, :probing?
    assert_equal [7], @outage.skip.strands

    assert_equal :late, @outage.learn(nil)
    refute_predicate @outage, :probing?
    assert_nil @outage.learn(nil), "and nothing is wrong with an empty table"
  end

  test "rows that are stuck behind those that are stuck are left out too" do
    out(7)
    out(8, nil)

    assert_equal [[7, 8], [2]], [@outage.skip.strands, @outage.skip.ids]
  end

  test "until one goes out, what is left out is known without what it holds; then it is forgotten" do
    out(7)
    assert_equal [[{"id" => 1, "topic" => "t", "attempts" => 2}, [], :late]],
      @outage.left_out.map { |fate| [fate.failed, fate.rest, fate.error] }
    assert_nil @outage.learn(Turn.new([1], []))

    refute_predicate @outage, :probing?
    assert_empty @outage.left_out
  end

  test "rows that are refused behind those that are stuck prove nothing" do
    out(7)
    assert_nil @outage.learn(Turn.new([], []))

    assert_predicate @outage, :probing?
    assert_equal 1, @outage.left_out.size
  end

  test "too much to be left out, the next turn parks it: it begins anew, and nothing has gone out" do
    out(1, 2, 3)
    refute_predicate @outage, :full?
    out(4)
    assert_predicate @outage, :full?

    assert_equal :late, @outage.learn(Turn.new([], [], true))
    refute_predicate @outage, :probing?
    refute_predicate @outage, :full?
  end

  private

  def out(*strands)
    @outage.learn(Turn.new([], strands.each.with_index(1).map { |strand, id| fate(id, strand) }))
  end

  def fate(id, strand)
    row = {"id" => id, "strand" => strand, "topic" => "t", "attempts" => 2, "payload" => "large"}
    Penstock::Outbox::Dispatch::Fate.new(Penstock::Outbox::Plan::Chain.new([id, 99], [100], false), [], row, :late, :stuck)
  end
end
