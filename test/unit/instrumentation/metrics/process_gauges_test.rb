# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/process_gauges"
require "penstock/instrumentation/metrics/registry"

class ProcessGaugesTest < Penstock::TestCase
  Metrics = Penstock::Instrumentation::Metrics

  def setup
    super
    @vitals = {running: 3, partitions: 6, rss_bytes: 50_000, live: true, ready: false, member: false,
               breakers: [{topics: %w[orders bills]}, {topics: %w[orders]}]}
    @registry = Metrics::Registry.new { |registry| Metrics::ProcessGauges.set(registry, @vitals) }
  end

  def value(name) = @registry.snapshot[name]&.to_h

  test "counts and truths are those of the health page" do
    found = %w[running_jobs partitions live ready].to_h { |name| [name, value("penstock_#{name}")] }

    assert_equal({"running_jobs" => {[] => [3]}, "partitions" => {[] => [6]}, "live" => {[] => [1]}, "ready" => {[] => [0]}},
      found)
    assert_equal({[] => [50_000]}, value("process_resident_memory_bytes"))
  end

  test "a process without a server isn't ready, and isn't not ready" do
    @vitals.delete(:member)
    assert_equal [{[] => [1]}, nil], [value("penstock_live"), value("penstock_ready")]
    @vitals[:nodes] = []
    assert_equal({[] => [0]}, value("penstock_ready"))
  end

  test "a topic has the number of its open breakers, until they are closed" do
    assert_equal({["orders"] => [2], ["bills"] => [1]}, value("penstock_consumer_breakers_open"))
    @vitals[:breakers] = [{topics: %w[bills]}]
    assert_equal({["bills"] => [1]}, value("penstock_consumer_breakers_open"))
    @vitals[:breakers] = nil
    assert_nil value("penstock_consumer_breakers_open")
  end

  test "what the health page doesn't know has no series, instead of 0" do
    @vitals.delete(:rss_bytes)
    assert_nil value("process_resident_memory_bytes")
  end
end
