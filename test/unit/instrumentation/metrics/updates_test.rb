# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/registry"
require "penstock/instrumentation/metrics/updates"

class MetricsUpdatesTest < Penstock::TestCase
  Metrics = Penstock::Instrumentation::Metrics

  METRICS = [
    Metrics::Metric.new(name: "messages_total", kind: :counter, labels: %i[group topic], amount: :count),
    Metrics::Metric.new(name: "took_seconds", kind: :histogram, labels: %i[group topic], unit: :seconds, amount: :time,
      buckets: [0.1, 1].freeze)
  ].freeze

  def setup
    super
    @registry = Metrics::Registry.new(METRICS)
    @asked = []
    text = ->(topic) { topic.to_s.tap { |name| @asked << name } }
    @updates = Metrics::Updates.new(@registry, METRICS, [->(payload) { payload[:caller] }, :topic], [:to_s.to_proc, text])
  end

  def call(topic = "orders", **payload) = @updates.call({caller: "shop", topic: topic, count: 2, time: 500, **payload})

  def rows(name) = @registry.snapshot.fetch(name, []).to_h

  test "each metric records its own value; the labels are determined once" do
    3.times { call }

    assert_equal({%w[shop orders] => [6]}, rows("messages_total"))
    assert_equal({%w[shop orders] => [1.5, 0, 3, 0]}, rows("took_seconds"))
    assert_equal %w[orders], @asked
  end

  test "after a reset of the registry, as in a child of a fork, its new series are updated" do
    2.times { call }
    @registry.reset
    call

    assert_equal({%w[shop orders] => [2]}, rows("messages_total"))
  end

  test "a metric whose value the event doesn't have gets no series before it has one" do
    call(time: nil)
    assert_empty rows("took_seconds")
    call
    call(time: nil)

    assert_equal [[6], [0.5, 0, 1, 0]], [rows("messages_total"), rows("took_seconds")].map { |found| found[%w[shop orders]] }
  end

  test "a Symbol, a String that is changed later, and any other object count in the series of their text" do
    name = +"orders"
    call(name)
    name << "2"
    call(:orders)
    klass = Struct.new(:to_s)
    call(klass.new("orders"))
    call(nil, caller: nil)

    assert_equal({%w[shop orders] => [6], ["", ""] => [2]}, rows("messages_total"))
  end

  test "of 1,500 topics the series of 1,000 are remembered, and all are counted" do
    2.times { 1_500.times { |number| call("t#{number}") } }

    assert_equal 1_500 + 500, @asked.size
    assert_equal [101, 6_000], [rows("messages_total").size, rows("messages_total").values.flatten.sum]
  end

  test "no update of eight threads is lost, and a snapshot has as many values in buckets as were added up" do
    seen = Queue.new
    threads = Array.new(8) do |index|
      Thread.new do
        500.times do |number|
          call("t#{(number + index) % 3}")
          seen << rows("took_seconds").values if (number % 50).zero?
        end
      end
    end
    threads.each(&:join)
    found = Array.new(seen.size) { seen.pop }.flatten(1)

    assert_equal 8_000, rows("messages_total").values.flatten.sum
    assert_equal found.map { |sum, *| sum }, found.map { |_sum, *counts| counts.sum * 0.5 }
  end
end
