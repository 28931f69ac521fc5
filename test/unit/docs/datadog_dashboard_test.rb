# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/instrumentation/metrics/catalogue"

# The dashboard for Datadog, against the catalogue of metrics. test/process/exporters_test.rb shows that they are all sent.
class DatadogDashboardTest < Penstock::TestCase
  FILE = File.expand_path("../../../docs/dashboards/datadog.json", __dir__)
  KNOWN = Penstock::Instrumentation::Metrics::Catalogue::ALL.to_h { |metric| [metric.name, metric] }
  # Added by the agent (host) and in a swarm (node).
  ADDED = %w[host node].freeze
  # The metrics that the agent makes of a histogram.
  PARTS = %w[avg count max median 95percentile].freeze
  QUERY = /\A(?:sum|avg|max|min):([a-z_]+)(?:\.(\w+))?\{([^}]+)\}(?: by \{([a-z,]+)\})?(?:\.(as_rate|as_count)\(\))?\z/

  def dashboard = @dashboard ||= JSON.parse(File.read(FILE))
  def widgets = dashboard.fetch("widgets").flat_map { |group| group.dig("definition", "widgets") }
  def requests = widgets.flat_map { |widget| widget.dig("definition", "requests") }
  def queries = requests.flat_map { |request| request.fetch("queries").map { |query| query.fetch("query") } }

  test "[datadog/appsignal] every metric of a widget exists, and is queried as its kind is sent" do
    assert_operator queries.size, :>, 25
    queries.each do |query|
      name, part, _filter, _by, rated = query.match(QUERY)&.captures
      metric = KNOWN[name] or flunk(query)
      assert_equal metric.histogram?, PARTS.include?(part), query
      assert_equal metric.kind == :counter || part == "count", !rated.nil?, query
    end
  end

  test "the tags that a widget selects or groups by are labels of its metric" do
    queries.each do |query|
      name, _part, filter, by = query.match(QUERY).captures
      variables = filter.split(",").filter_map { |one| one.delete_prefix("$") unless one == "*" }
      assert_empty variables - dashboard["template_variables"].map { |variable| variable["name"] }, query
      assert_empty [*variables, *by&.split(",")] - KNOWN.fetch(name).labels.map(&:to_s) - ADDED, query
    end
  end

  test "formulas use the queries of their request, and titles are unique" do
    requests.each do |request|
      names = request["queries"].map { |query| query["name"] }
      used = request["formulas"].flat_map { |formula| formula["formula"].scan(/query\d+/) }
      assert_equal names, used.uniq
    end
    titles = widgets.map { |widget| widget.dig("definition", "title") }
    assert_equal titles.uniq, titles
  end
end
