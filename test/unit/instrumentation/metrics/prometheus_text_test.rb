# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/prometheus_text"
require "penstock/instrumentation/metrics/registry"
require "support/prometheus_text_parser"
require "support/promtool"

class PrometheusTextTest < Penstock::TestCase
  Metrics = Penstock::Instrumentation::Metrics
  Parser = Penstock::TestSupport::PrometheusTextParser

  METRICS = [
    Metrics::Metric.new(name: "calls_total", kind: :counter, labels: %i[topic], help: "Calls, with a \\ and a\nline."),
    Metrics::Metric.new(name: "took_seconds", kind: :histogram, labels: %i[topic], buckets: [0.005, 1, 2.5].freeze,
      help: "Durations."),
    Metrics::Metric.new(name: "age_seconds", kind: :gauge, labels: [], help: "An age.")
  ].freeze

  def setup
    super
    @registry = Metrics::Registry.new(METRICS)
  end

  def text(*more) = Metrics::PrometheusText.of([[{}, @registry.snapshot], *more], METRICS)

  test "the text, byte by byte" do
    @registry["calls_total"].update(["orders"], 3)
    [0.005, 0.5, 1.5, 99].each { |value| @registry["took_seconds"].update(["orders"], value) }
    @registry["age_seconds"].update([], 0.25)

    assert_equal <<~'TEXT', text
      # HELP calls_total Calls, with a \\ and a\nline.
      # TYPE calls_total counter
      calls_total{topic="orders"} 3
      # HELP took_seconds Durations.
      # TYPE took_seconds histogram
      took_seconds_bucket{topic="orders",le="0.005"} 1
      took_seconds_bucket{topic="orders",le="1"} 2
      took_seconds_bucket{topic="orders",le="2.5"} 3
      took_seconds_bucket{topic="orders",le="+Inf"} 4
      took_seconds_sum{topic="orders"} 101.005
      took_seconds_count{topic="orders"} 4
      # HELP age_seconds An age.
      # TYPE age_seconds gauge
      age_seconds 0.25
    TEXT
    assert_empty Penstock::TestSupport::Promtool.problems(text.sub("calls_total Calls", "calls_total Number of calls"))
  end

  test "label values are escaped, and read back as they were" do
    values = ["a\"b", "a\\", "ä 日本", "a\\n", "", "{},=\"", "le=\"1\""]
    values.each_with_index { |value, index| @registry["calls_total"].update([value], index + 1) }
    found = Parser.parse(text).fetch("calls_total").values

    assert_equal values, found.keys.map { |_name, labels| labels.fetch("topic") }
    assert_equal (1..7).map(&:to_f), found.values
    assert_includes text, 'calls_total{topic="a\\"b"} 1'
    assert_includes text, 'calls_total{topic="a\\\\"} 2'
  end

  test "control characters of a label are shown as text, so that no line is cut" do
    @registry["calls_total"].update(["a\n\r\e[2J\u2028b"], 1)

    assert_equal ['a\\n\\r\\e[2J\\u2028b'], Parser.parse(text)["calls_total"].values.keys.map { |_name, labels| labels["topic"] }
  end

  test "large, small and special numbers" do
    {1e20 => "1.0e+20", 1.0 => "1", 0.00001 => "1.0e-05", Float::INFINITY => "+Inf", -Float::INFINITY => "-Inf",
     Float::NAN => "NaN", 1_795_477_090.325338 => "1795477090.325338", 10**20 => "100000000000000000000"}.each do |value, written|
      @registry["age_seconds"].update([], value)

      assert_includes text, "\nage_seconds #{written}\n"
      Parser.parse(text)
    end
  end

  test "series of several processes stand in one block each, with the labels of their process first" do
    @registry["calls_total"].update(["orders"], 3)
    found = text([{node: "0"}, @registry.snapshot], [{node: "1"}, {}])

    assert_equal ['calls_total{topic="orders"} 3', 'calls_total{node="0",topic="orders"} 3'],
      found.lines(chomp: true).grep(/^calls/)
    assert_equal 1, found.scan("# TYPE calls_total").size
    Parser.parse(found)
  end

  test "a metric without a series isn't mentioned" do
    assert_equal "", text
  end

  test "the parser of these tests refuses what Prometheus refuses" do
    good = "# HELP a_seconds A.\n# TYPE a_seconds histogram\na_seconds_bucket{le=\"1\"} 1\na_seconds_bucket{le=\"+Inf\"} 2\n" \
           "a_seconds_sum 3\na_seconds_count 2\n"
    Parser.parse(good)
    [["le=\"+Inf\"} 2", "le=\"+Inf\"} 0"], ["count 2", "count 3"], ["a_seconds_sum 3\n", ""], [" histogram", " counter"],
      ["{le=\"1\"}", "{le=\"1}"], ["sum 3", "sum x"], ["sum 3", "sum  3"], ["# HELP a_seconds A.\n", ""],
      ["count 2\n", "count 2"],
      ["le=\"1\"", "le=\"1\",,b=\"\""], ["a_seconds_sum 3\n", "a_seconds_sum 3\na_seconds_sum 3\n"],
      ["le=\"1\"", "le=\"1\\x\""]].each do |from, to|
      bad = good.sub(from, to)

      refute_equal good, bad
      assert_raises(RuntimeError, bad) { Parser.parse(bad) }
    end
  end
end
