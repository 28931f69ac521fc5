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

  test "a class that is no constant is kept, also if its own method returns a name" do
    anonymous = Class.new { def consume = nil }
    named = Class.new(anonymous) { def self.name = "OrdersConsumer" }
    nested = Class.new.const_set(:Inner, Class.new(anonymous))

    [anonymous, named, nested].each { |type| assert_same type, topic(false, type).consumer }
  end

  test "a class that was removed raises until it is there again: that of boot isn't used" do
    kept, renewed = topic(true), topic(false)
    before = kept.consumer
    object = before.new
    teardown
    2.times do
      error = assert_raises(NameError) { renewed.consumer }
      assert_equal "uninitialized constant RoutingTopicTest::Reloaded, which topic a used before its code was reloaded. " \
        "Restore the class, or change the route and restart the process", error.message.lines.first.chomp
      assert_raises(NameError) { renewed.outdated?(object) }
    end
    assert_same before, kept.consumer
    setup

    assert_same self.class.const_get(:Reloaded), renewed.consumer
  end

  test "an error of the code that defines the class is raised as it is" do
    here = topic(false)
    teardown
    self.class.define_singleton_method(:const_missing) { |_name| Object.const_get(:NoSuchHelper) }
    error = assert_raises(NameError) { here.consumer }
    assert_equal [:NoSuchHelper, nil], [error.name, error.message[/before its code/]]
  ensure
    self.class.singleton_class.remove_method(:const_missing)
    setup
  end

  test "a private class is found, and one of the same name elsewhere isn't taken for it" do
    self.class.private_constant :Reloaded
    here = topic(false, self.class.const_get(:Reloaded))
    assert_same self.class.const_get(:Reloaded), here.consumer
    teardown
    Object.const_set(:Reloaded, Class.new)
    assert_raises(NameError) { here.consumer }
  ensure
    Object.send(:remove_const, :Reloaded)
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
