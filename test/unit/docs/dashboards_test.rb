# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/instrumentation/metrics/catalogue"
require "support/promtool"

# The dashboards of docs/dashboards, against the catalogue of metrics: a renamed metric would be an empty panel.
class DashboardsTest < Penstock::TestCase
  FILE = File.expand_path("../../../docs/dashboards/grafana.json", __dir__)
  KNOWN = Penstock::Instrumentation::Metrics::Catalogue::ALL.to_h { |metric| [metric.name, metric] }
  # Added by a scrape (instance), by a swarm (node) and by histograms (le).
  ADDED = %w[instance node le].freeze
  SUFFIX = /_(?:bucket|sum|count)\z/

  def dashboard = @dashboard ||= JSON.parse(File.read(FILE))
  def panels = dashboard.fetch("panels").reject { |panel| panel["type"] == "row" }
  def expressions = panels.flat_map { |panel| panel.fetch("targets").map { |target| target.fetch("expr") } }

  # @return [Array<Metric, String>] a name if there is no such metric
  def metrics(expression)
    expression.scan(/\b(?:penstock|process)_[a-z_]+/).map { |name| KNOWN[name] || KNOWN[name.sub(SUFFIX, "")] || name }
  end

  test "every metric of a panel exists, and has the labels by which the panel selects or adds up" do
    expressions.each do |expression|
      found = metrics(expression)
      assert_empty found.grep(String), expression
      labels = expression.scan(/\b(?:by|on) \(([a-z, ]+)\)/).flat_map { |(list)| list.split(", ") }
      labels += expression.scan(/([a-z]+)=~/).flatten
      found.each { |metric| assert_empty labels - metric.labels.map(&:to_s) - ADDED, expression }
    end
  end

  test "what needs a person in the alerts is on a panel" do
    shown = expressions.flat_map { |expression| metrics(expression) }.map(&:name)
    page = File.read(File.expand_path("../../../docs/alerts.md", __dir__), encoding: "UTF-8")
    alerts = page[/^```yaml\ngroups:.*?^```/m].scan(/\bpenstock_[a-z_]+/).uniq

    assert_operator alerts.size, :>=, 8
    assert_empty alerts - shown
  end

  test "names in legends are labels that the expression keeps" do
    panels.flat_map { |panel| panel.fetch("targets") }.each do |target|
      expression, names = target["expr"], target["legendFormat"].scan(/\{\{(\w+)\}\}/).flatten
      kept = expression.scan(/\bby \(([a-z, ]+)\)/).flat_map { |(list)| list.split(", ") }
      kept = metrics(expression).first.labels.map(&:to_s) + ADDED if kept.empty?
      assert_empty names - kept, "#{expression} #{target["legendFormat"]}"
    end
  end

  test "Prometheus accepts every expression" do
    rules = expressions.each_with_index.map do |expression, index|
      {record: "panel:#{index}", expr: expression.gsub("$__rate_interval", "5m").gsub("$group", ".*").gsub("$topic", ".*")}
    end
    assert_operator rules.size, :>, 20
    assert_empty Penstock::TestSupport::Promtool.problems_of_rules(JSON.generate({groups: [{name: "panels", rules: rules}]}))
  end

  test "panels don't overlap, and each has a title, a description and a unit" do
    cells = panels.flat_map do |panel|
      x, y, w, h = panel.fetch("gridPos").values_at("x", "y", "w", "h")
      (x...x + w).to_a.product((y...y + h).to_a)
    end
    assert_equal cells.uniq.size, cells.size
    assert_equal dashboard["panels"].map { |panel| panel["id"] }.uniq.size, dashboard["panels"].size
    panels.each do |panel|
      texts = [panel["title"], panel["description"], panel.dig("fieldConfig", "defaults", "unit")]
      assert_empty texts.select { |text| text.to_s.empty? }, panel["title"]
    end
  end
end
