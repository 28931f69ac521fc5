# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/instrumentation/metrics/topic_names"

class MetricsTopicNamesTest < Penstock::TestCase
  TopicNames = Penstock::Instrumentation::Metrics::TopicNames

  class AuditConsumer < Penstock::BaseConsumer
    def consume = nil
  end

  test "[metrics] a pattern's first 50 topics keep their names, all later ones share the pattern" do
    names = TopicNames.new(->(name) { "audit\\..*" if name.start_with?("audit.") })
    labels = Array.new(60) { |number| names["audit.#{number}"] }

    assert_equal Array.new(50) { |number| "audit.#{number}" } + (["audit\\..*"] * 10), labels
    assert_equal labels, Array.new(60) { |number| names["audit.#{number}"] }
    assert_equal "orders", names["orders"]
  end

  test "topics of another pattern, and of routes, aren't affected" do
    asked = 0
    names = TopicNames.new(lambda do |name|
      asked += 1
      name[/\A(?:a|b)\./]
    end)
    60.times { |number| names["a.#{number}"] }

    assert_equal "b.1", names["b.1"]
    3.times { names["b.1"] }
    assert_equal 61, asked
  end

  test "an application's patterns: the lags of topics that share a name are added up" do
    app = Class.new(Penstock::App) { default false }
    app.setup { |config| config.metrics = true }
    app.routes.draw { pattern(/audit\..*/) { consumer AuditConsumer } }
    topics = Array.new(60) { |number| ["audit.#{number}", {"partitions" => {"0" => {"consumer_lag" => 2}}}] }.to_h
    app.monitor.instrument("statistics.emitted", {statistics: {"topics" => topics}, subscription_group_id: "sg",
                                                  consumer_group_id: "shop"})
    lags = app.metrics.lines.grep(/\Apenstock_consumer_lag_messages\{/)

    assert_equal 51, lags.size
    assert_equal "penstock_consumer_lag_messages{group=\"shop\",topic=\"audit\\\\..*\",partition=\"0\"} 20\n", lags.last
  end
end
