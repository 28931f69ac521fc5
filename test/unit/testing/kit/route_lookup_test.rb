# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"

module Penstock
  class KitRouteLookupTest < TestCase
    include TestSupport::KitExamples

    def lookup(topic, group = nil, routes: penstock_application.routes)
      Testing::Kit::RouteLookup.new(routes).call(topic, group)
    end

    test "an unknown topic is refused with the nearest name, and the names there are" do
      error = assert_raises(Testing::TopicNotFoundError) { lookup(:ordres) }
      assert_equal "no route has the topic ordres. Did you mean orders? The routes have: orders, events, " \
        "with_dead_letters, visits, empty",
        error.message
      many = application(proc { 12.times { |number| topic("t#{number}") { consumer OtherConsumer } } }).routes
      error = assert_raises(Testing::TopicNotFoundError) { lookup(:other, routes: many) }
      assert_equal "no route has the topic other. The routes have: #{(0..9).map { |number|
        "t#{number}"
      }.join(", ")}, …", error.message
    end

    test "an application without routes is named as such" do
      error = assert_raises(Testing::TopicNotFoundError) { lookup(:orders, routes: application(proc {}).routes) }
      assert_equal "no route has the topic orders. There are no routes: draw them before the tests", error.message
    end

    test "an unknown group is refused with those that read the topic" do
      error = assert_raises(Testing::ConsumerGroupNotFoundError) { lookup(:events, :audti) }
      assert_equal "events isn't read by a consumer group audti, but by shop, audit. Did you mean audit?", error.message
      assert_raises(Testing::ConsumerGroupNotFoundError) { lookup(:orders, :audit) }
    end

    test "a topic that is only declared has no consumer" do
      error = assert_raises(Testing::TopicNotFoundError) { lookup(:empty) }
      assert_equal "empty has no consumer: its route only declares the topic", error.message
    end

    test "several connections of a group, and its segments, count as one group" do
      routes = application(proc do
        consumer_group(:many) do
          subscription_group(:a) do
            multiplexing max: 2
            topic(:orders) { consumer OtherConsumer }
          end
        end
        consumer_group(:split) do
          parallel_segments count: 2, partitioner: ->(message) { message.raw_key }
          topic(:events) { consumer OtherConsumer }
        end
      end).routes

      assert_equal "many", lookup(:orders, routes: routes).first.consumer_group_id
      assert_equal ["split-parallel-0", "events"], lookup(:events, :split, routes: routes).then { |topic, name|
        [topic.consumer_group_id, name]
      }
    end

    test "settings and routes are checked once" do
      checked = []
      tested = application
      tested.define_singleton_method(:validate!) { checked << 1 && super() }
      2.times { Testing::Kit::RouteLookup.check(tested) }

      assert_equal 1, checked.size
    end
  end
end
