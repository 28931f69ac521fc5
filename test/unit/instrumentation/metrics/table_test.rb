# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/table"

class MetricsTableTest < Penstock::TestCase
  Metrics = Penstock::Instrumentation::Metrics
  PAGE = File.read(File.expand_path("../../../../docs/monitoring.md", __dir__), encoding: "UTF-8")
  ALERTS = File.read(File.expand_path("../../../../docs/alerts.md", __dir__), encoding: "UTF-8")
  # Prometheus' own, and what queries append to the name of a histogram.
  SUFFIX = /_(?:bucket|sum|count)\z/

  test "the tables of docs/monitoring.md match the catalogue" do
    assert_equal Metrics::Table.new.replace(PAGE), PAGE, "run `rake docs:metrics`"
  end

  test "every metric is in a table once, with its kind, labels and events" do
    text = Metrics::Table.new.to_s

    Metrics::Catalogue::ALL.each do |metric|
      row, *others = text.lines.grep(/^\| `#{metric.name}` /)
      assert_empty others
      assert_includes row, " | #{metric.kind} | "
      [*metric.labels, *metric.events].each { |name| assert_includes row, "`#{name}`" }
    end
  end

  test "every metric that the queries of this page and of the alerts name exists, with the labels they use" do
    known = Metrics::Catalogue::ALL.to_h { |metric| [metric.name, metric] }
    queries = PAGE.split("## All metrics").first + ALERTS
    names = queries.scan(/\b(?:penstock|process)_[a-z_]+\b(?!\.)/).uniq

    assert_operator names.size, :>, 10
    assert_empty names.map { |name| name.sub(SUFFIX, "") } - known.keys
    labels = queries.scan(/by [({]([a-z, ]+)[)}]/).flatten.flat_map { |list| list.split(/, ?/) }.uniq
    assert_empty labels - known.values.flat_map(&:labels).map(&:to_s) - %w[le host]
  end
end
