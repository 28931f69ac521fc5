# frozen_string_literal: true

require "test_helper"
require "yabeda/prometheus"
require "penstock/monitors/yabeda"
require "support/exporting"
require "support/ruby_program"

module Penstock
  class YabedaTest < TestCase
    include TestSupport::Exporting

    # Yabeda and Prometheus' client have global registries.
    def setup
      super
      forget_all
      ::Yabeda.register_adapter(:prometheus, ::Yabeda::Prometheus::Adapter.new)
    end

    def teardown
      forget_all
      super
    end

    def forget_all
      ::Yabeda.reset!
      ::Prometheus::Client.registry.metrics.dup.each { |metric| ::Prometheus::Client.registry.unregister(metric.name) }
    end

    def install
      Monitors::Yabeda.install(@app)
      ::Yabeda.configure!
    end

    # @return [Hash] the values that Prometheus' client has after a scrape, by labels
    def values(name)
      ::Yabeda.collect!
      ::Prometheus::Client.registry.get(name.to_sym).values.transform_keys { |labels| labels.transform_keys(&:to_s) }
    end

    test "[datadog/appsignal] through Yabeda, Prometheus' client has counters, histograms with our buckets, and gauges" do
      install
      2.times { consumed(3) }
      publish("outbox.lag", table: "outbox", count: 4, parked: 1, aside: 0, held: 0, oldest_age_ms: 300)

      assert_equal({{"group" => "shop", "topic" => "orders"} => 6.0}, values("penstock_consumer_messages_total"))
      assert_equal({{"table" => "outbox"} => 0.3}, values("penstock_outbox_oldest_age_seconds"))
      buckets = values("penstock_consumer_consume_duration_seconds").values.first
      assert_equal [*Instrumentation::Metrics::Catalogue::SECONDS.map(&:to_s), "sum", "+Inf"], buckets.keys
      assert_equal [0.0, 2.0, 2.0, 0.06], buckets.values_at("0.025", "0.05", "+Inf", "sum")
      assert_equal({{} => 1.0}, values("penstock_live"))
    end

    test "the lag of a partition that was revoked becomes 0, for an adapter can't remove it" do
      install
      statistics({0 => 5, 1 => 7})
      assert_equal [5.0, 7.0], values("penstock_consumer_lag_messages").values
      statistics({1 => 8})

      assert_equal [0.0, 8.0], values("penstock_consumer_lag_messages").values
      statistics({0 => 2, 1 => 8})
      assert_equal [2.0, 8.0], values("penstock_consumer_lag_messages").values
    end

    test "what happens before Yabeda is configured isn't counted and does no harm" do
      Monitors::Yabeda.install(@app)
      consumed(3)
      ::Yabeda.configure!
      consumed(4)

      assert_equal [4.0], values("penstock_consumer_messages_total").values
    end

    test "two applications of a process share the metrics" do
      install
      other = Class.new(Penstock::App) { default false }
      Monitors::Yabeda.install(other)
      consumed(3)
      shop = Caller.new(Topic.new("shop"))
      other.monitor.instrument("consumer.consumed", {topic: "orders", partition: 0, first_offset: 0, last_offset: 0,
                                                     messages_count: 1, attempt: 1, time: 1, caller: shop})

      assert_equal [4.0], values("penstock_consumer_messages_total").values
    end

    test "[datadog/appsignal] 10,000 classes of errors make 101 series of Yabeda" do
      install
      fail_with_many_classes
      found = values("penstock_errors_total")

      assert_equal bounded, found.keys.map { |labels| labels["error"] }
      assert_equal 10_000, found.values.sum
      assert_equal 101, ::Yabeda.penstock_errors_total.values.size
    end

    test "there are no options; a missing gem is named" do
      error = assert_raises(ConfigurationError) { Monitors::Yabeda.install(@app, namespace: "x") }
      assert_equal "Yabeda: there is no option namespace. It has none", error.message
      output, = TestSupport::RubyProgram.run(<<~RUBY)
        require "penstock/monitors/yabeda"
        def require(name) = (name == "yabeda") ? raise(LoadError, "cannot load such file -- yabeda") : super
        begin
          Penstock::Monitors::Yabeda.new
        rescue Penstock::ConfigurationError => error
          puts error.message
        end
      RUBY

      assert_equal "Yabeda: the gem yabeda can't be loaded (cannot load such file -- yabeda). " \
        "Add `gem \"yabeda\"` to the Gemfile", output.lines.last.chomp
    end
  end
end
