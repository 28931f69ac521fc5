# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/routing/selection"

class SelectionTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer

  def setup
    @routes = routes do
      consumer_group(:one) do
        topic(:a) { consumer C }
        subscription_group(:own) { topic(:b) { consumer C } }
      end
      consumer_group(:two) do
        topic(:c) { consumer C }
        pattern(:trail, /audit\..*/) { consumer C }
      end
    end
  end

  test "included parts run, with the ids they have without a selection" do
    chosen = @routes.select(selection(include: {topics: %w[b c]}))

    assert_equal %w[b c], chosen.topics.map(&:name)
    assert_equal %w[one_own_1 two_default_2], chosen.subscription_groups.map(&:id)
    assert_same chosen.subscription_groups.first, chosen.find("b").subscription_group
    assert_empty chosen.problems
  end

  test "excluded parts don't run" do
    assert_equal %w[a b], names(exclude: {consumer_groups: %w[two]})
    assert_equal %w[a c trail], names(exclude: {subscription_groups: %w[own]})
    assert_equal %w[a c trail], names(exclude: {subscription_groups: %w[one_own_1]})
  end

  test "[include/exclude filters] include wins; unknown name fails" do
    assert_equal %w[a], names(include: {topics: %w[a]}, exclude: {topics: %w[a]})

    problems = @routes.select(selection(include: {topics: %w[a d], consumer_groups: %w[on]})).problems
    assert_equal ["consumer-groups on: is in no route. Did you mean one?", "topics d: is in no route. The routes have " \
      "a, b, c, trail"],
      problems.map(&:to_s)
  end

  test "[named pattern filter] --exclude-topics goes by the pattern's name" do
    assert_equal %w[a b c], names(exclude: {topics: %w[trail]})
  end

  test "a topic that a pattern may match isn't unknown" do
    assert_empty @routes.select(selection(exclude: {topics: %w[audit.new]})).problems
  end

  test "[none active] nothing left is empty" do
    assert_predicate @routes.select(selection(exclude: {consumer_groups: %w[one two]})), :empty?
    refute_predicate @routes, :empty?
  end

  private

  def selection(**parts) = Penstock::Routing::Selection.new(**parts)

  def names(**parts) = @routes.select(selection(**parts)).topics.map(&:name)
end
