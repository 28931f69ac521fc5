# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/metric"

class MetricTest < Penstock::TestCase
  def metric(**options) = Penstock::Instrumentation::Metrics::Metric.new(name: "one", labels: [], **options)

  test "the value is 1, what the payload has at a key, or what a callable makes of the payload" do
    assert_equal 1, metric(kind: :counter).value({count: 7})
    assert_equal 7, metric(kind: :counter, amount: :count).value({count: 7})
    assert_equal 3, metric(kind: :counter, amount: ->(payload) { payload[:rows].size }).value({rows: [1, 2, 3]})
  end

  test "milliseconds become seconds where the unit is seconds, and nothing else does" do
    assert_equal 0.25, metric(kind: :histogram, unit: :seconds, amount: :time).value({time: 250})
    assert_equal 250, metric(kind: :gauge, unit: :messages, amount: :time).value({time: 250})
  end

  test "an event without the value has none" do
    assert_nil metric(kind: :histogram, unit: :seconds, amount: :time).value({})
  end

  test "it has one kind" do
    assert_equal [true, false], [metric(kind: :histogram).histogram?, metric(kind: :histogram).gauge?]
    assert_equal [false, true], [metric(kind: :gauge).histogram?, metric(kind: :gauge).gauge?]
  end
end
