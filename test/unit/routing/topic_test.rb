# frozen_string_literal: true

require "test_helper"
require "support/routes"

# The current consumer class of a topic.
class RoutingTopicTest < Penstock::TestCase
  include RoutesSupport

  def setup
    self.class.const_set(:Reloaded, Class.new { def consume = nil })
  end

  def teardown
    self.class.send(:remove_const, :Reloaded)
  end

  def topic(persistence, type = RoutingTopicTest::Reloaded)
    routes do
      topic(:a) do
        consumer type
        consumer_persistence persistence
      end
    end.find(:a)
  end

  test "without persistence a reloaded class is used from the next instance on" do
    kept, renewed = topic(true), topic(false)
    before = self.class.const_get(:Reloaded)
    assert_equal [before, before], [kept.consumer, renewed.consumer]
    teardown
    setup

    assert_same before, kept.consumer
    assert_same self.class.const_get(:Reloaded), renewed.consumer
    refute_same before, renewed.consumer
  end

  test "a class without a name, or whose name no longer exists, is kept" do
    anonymous = Class.new { def consume = nil }
    assert_same anonymous, topic(false, anonymous).consumer
    here = topic(false)
    before = here.consumer
    teardown
    assert_same before, here.consumer
    setup
  end

  test "an instance of the class before a reload is outdated, without persistence only" do
    kept, renewed = topic(true), topic(false)
    object = self.class.const_get(:Reloaded).new
    refute renewed.outdated?(object)
    teardown
    setup

    assert renewed.outdated?(object)
    refute kept.outdated?(object)
    refute renewed.outdated?(Class.new.new)
  end
end
