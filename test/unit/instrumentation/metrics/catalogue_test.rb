# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/catalogue"
require "penstock/instrumentation/catalogue"

class MetricsCatalogueTest < Penstock::TestCase
  ALL = Penstock::Instrumentation::Metrics::Catalogue::ALL
  # Labels that a payload has under another name, or in another object.
  FOUND = {group: %i[consumer_group_id subscription_group caller], job: %i[job_class]}.freeze

  test "names follow Prometheus' conventions and are unique" do
    assert_equal ALL.map(&:name).uniq, ALL.map(&:name)
    ALL.each do |metric|
      assert_match(/\A(?:penstock|process)_[a-z]+(?:_[a-z]+)*\z/, metric.name)
      assert_equal metric.kind == :counter, metric.name.end_with?("_total"), metric.name
      assert_match(/_#{metric.unit}(?:_total)?\z/, metric.name) if %i[seconds bytes].include?(metric.unit)
      assert metric.help.end_with?("."), metric.name
      refute_includes metric.name, "milli"
    end
  end

  test "every histogram has ascending limits, no other metric has any" do
    ALL.each { |metric| assert_equal metric.histogram?, !metric.buckets.nil?, metric.name }
    ALL.select(&:histogram?).each { |metric| assert_equal metric.buckets.sort.uniq, metric.buckets, metric.name }
  end

  test "every event exists, and its payload has the labels and the amount" do
    events = Penstock::Instrumentation::Catalogue.standard
    ALL.each do |metric|
      metric.events.each do |name|
        keys = events.fetch(name).allowed
        next if name == "statistics.emitted" # the catalogue doesn't list their keys

        metric.labels.each { |label| assert_predicate FOUND.fetch(label, [label]) & keys, :any?, "#{metric.name}: #{label}" }
        assert_includes keys, metric.amount, metric.name if metric.amount.is_a?(Symbol)
      end
    end
  end

  test "no label identifies a single record or client: such a label has no limit" do
    assert_empty ALL.flat_map(&:labels).uniq & %i[key offset client_id producer_id message server_id pid]
  end
end
