# frozen_string_literal: true

require "test_helper"
require "support/routes"

class SubscriptionGroupTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer

  test "[SG split] differing properties make two connections; Penstock's limits don't, they apply to each partition" do
    drawn = routes do
      topic(:a) { consumer C }
      topic(:b) {
        consumer C
        max_messages 1
        max_wait_time 50
        initial_offset "latest"
      }
      topic(:c) {
        consumer C
        kafka({"fetch.min.bytes": 2}, inherit: true)
      }
      topic(:d) {
        consumer C
        kafka({"fetch.min.bytes": 2}, inherit: true)
      }
    end

    assert_equal [%w[a b], %w[c d]], drawn.subscription_groups.map(&:subscription)
    assert_equal %w[app_default_0 app_default2_1], drawn.subscription_groups.map(&:id)
  end

  test "[SG explicit] groups with different names are never merged" do
    drawn = routes do
      subscription_group(:one) { topic(:a) { consumer C } }
      subscription_group("two") { topic(:b) { consumer C } }
      topic(:c) { consumer C }
      subscription_group { topic(:d) { consumer C } }
    end

    assert_equal [%w[a], %w[b], %w[c], %w[d]], drawn.subscription_groups.map(&:subscription)
    assert_equal %w[app_one_0 app_two_1 app_default_2 app_subscription3_3], drawn.subscription_groups.map(&:id)
  end

  test "a subscription group has properties of its own" do
    drawn = routes do
      subscription_group(:fast) do
        kafka({"fetch.min.bytes": 2}, inherit: true)
        topic(:a) { consumer C }
        topic(:b) {
          consumer C
          kafka({"fetch.wait.max.ms": 5}, inherit: true)
        }
      end
    end

    assert_equal [{**KAFKA, "fetch.min.bytes": 2}, {**KAFKA, "fetch.min.bytes": 2, "fetch.wait.max.ms": 5}],
      drawn.subscription_groups.map(&:kafka)
    assert_equal %w[app_fast_0 app_fast2_1], drawn.subscription_groups.map(&:id)
  end

  test "[kafka inherit] merged only with inherit: true" do
    drawn = routes do
      topic(:a) {
        consumer C
        kafka("bootstrap.servers": "b:1")
      }
      topic(:b) {
        consumer C
        kafka({"fetch.min.bytes": 2}, inherit: true)
      }
    end

    assert_equal({"bootstrap.servers": "b:1"}, drawn.find(:a).kafka)
    assert_equal({**KAFKA, "fetch.min.bytes": 2}, drawn.find(:b).kafka)
  end

  test "positions count inactive groups, so ids don't change when one is switched off" do
    ids = [true, false].map do |on|
      drawn = routes do
        consumer_group(:one) {
          topic(:a) {
            consumer C
            active on
          }
        }
        consumer_group(:two) { topic(:b) { consumer C } }
      end
      drawn.subscription_groups.map(&:id)
    end

    assert_equal [%w[one_default_0 two_default_1], %w[two_default_1]], ids
  end

  test "[pattern topics] a topic found by a pattern has its route under the real name" do
    drawn = routes do
      consumer_group(:audit) do
        pattern(:trail, /audit\..*/) {
          consumer C
          max_messages 7
        }
        topic("audit.old") {
          consumer C
          max_messages 1
        }
      end
    end
    group = drawn.subscription_groups.first
    found = group.topic_for("audit.new")

    assert_equal ['^audit\..*', "audit.old"], group.subscription
    assert_equal ["audit.new", 7, true, false], [found.name, found.max_messages, found.discovered?, found.pattern?]
    assert_equal "audit_audit.new", found.id
    assert_same group, found.subscription_group
    assert_nil group.topic_for("xaudit.new")
    assert_equal "trail", drawn.topics.first.name
    assert_equal "audit.new", drawn.find("audit.new").name
  end

  test "an explicit topic wins over a pattern, also in another connection of its group" do
    drawn = routes do
      pattern(/orders.*/) { consumer C }
      topic(:orders_eu) {
        consumer C
        max_messages 1
        kafka({"fetch.min.bytes": 2}, inherit: true)
      }
    end
    matching = drawn.subscription_groups.first

    assert_equal 1, matching.topic_for("orders_eu").max_messages
    assert_equal 100, matching.topic_for("orders_us").max_messages
  end

  test "under KIP-848 a pattern is written for an engine that matches the whole name" do
    with = settings(kafka: {**KAFKA, "group.protocol": "consumer"})
    drawn = routes(with) { pattern(/audit/) { consumer C } }

    assert_equal ["^audit.*"], drawn.subscription_groups.first.subscription
  end
end
