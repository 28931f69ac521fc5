# frozen_string_literal: true

require "test_helper"
require "penstock/outbox/outage"

class OutboxOutageTest < Penstock::TestCase
  Turn = Struct.new(:done, :outage, :stuck)

  def setup
    @outage = Penstock::Outbox::Outage.new
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

  test "where one goes out it is only what is at the head, of which the next turn is told, and no other" do
    out(7)
    assert_nil sent

    assert_predicate @outage, :elsewhere?
    refute_predicate @outage, :probing?
    sent
    refute_predicate @outage, :elsewhere?
  end

  test "rows that are refused behind those that are stuck prove nothing" do
    out(7)
    assert_nil @outage.learn(Turn.new([], [], []))

    assert_predicate @outage, :probing?
    refute_predicate @outage, :elsewhere?
  end

  test "too much to be left out, it begins anew" do
    assert_equal :late, out(*1..Penstock::Outbox::Outage::MOST)
    assert_predicate @outage, :probing?
    assert_equal :late, out(0)
    refute_predicate @outage, :probing?
  end

  private

  def out(*strands)
    @outage.learn(Turn.new([], [:late], strands.each.with_index(1).map { |strand, id| {"id" => id, "strand" => strand} }))
  end

  def sent = @outage.learn(Turn.new([1], [], []))
end
