# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/metrics/registry"

class MetricsRegistryTest < Penstock::TestCase
  Metrics = Penstock::Instrumentation::Metrics

  METRICS = [
    Metrics::Metric.new(name: "errors_total", kind: :counter, labels: %i[topic error]),
    Metrics::Metric.new(name: "calls_total", kind: :counter, labels: []),
    Metrics::Metric.new(name: "took_seconds", kind: :histogram, labels: %i[topic], buckets: [0.1, 1].freeze),
    Metrics::Metric.new(name: "lag", kind: :gauge, labels: %i[topic partition])
  ].freeze

  def setup
    super
    @registry = Metrics::Registry.new(METRICS)
  end

  def rows(name) = @registry.snapshot.fetch(name).to_h

  test "a counter without labels is 0 from the beginning, others appear with their first event; nothing decreases" do
    assert_equal({"calls_total" => [[[], [0]]]}, @registry.snapshot)
    @registry["errors_total"].update(%w[orders IOError], 2)
    @registry["errors_total"].update(%w[orders IOError], 3)
    @registry["errors_total"].update(%w[orders IOError], -1)
    [Float::NAN, Float::INFINITY].each { |value| @registry["errors_total"].update(%w[orders IOError], value) }

    assert_equal({%w[orders IOError] => [5]}, rows("errors_total"))
  end

  test "a value at the limit of a bucket belongs to it, a value above all limits to the last one" do
    [0.05, 0.1, 0.5, 7].each { |value| @registry["took_seconds"].update(["orders"], value) }

    assert_equal({["orders"] => [7.65, 2, 1, 1]}, rows("took_seconds"))
  end

  test "10,000 classes of errors are 101 series: the first 100, and all others together" do
    10_000.times { |number| @registry["errors_total"].update(["orders", "Error#{number}"], 1) }
    2.times { @registry["errors_total"].update(%w[orders Error9999], 1) }
    found = rows("errors_total")

    assert_equal 101, found.size
    assert_equal [[1], [1], [9_902]], [%w[orders Error0], %w[orders Error99], %w[orders other]].map { |labels| found[labels] }
    assert_operator found.sum { |_labels, numbers| numbers.first }, :==, 10_002
  end

  test "all labels together make at most 1,001 series; one that is known keeps counting" do
    100.times { |topic| 100.times { |error| @registry["errors_total"].update(["t#{topic}", "E#{error}"], 1) } }
    @registry["errors_total"].update(%w[t0 E0], 1)
    found = rows("errors_total")

    assert_equal 1_001, found.size
    assert_equal [[2], [9_000]], [found[%w[t0 E0]], found[%w[other other]]]
  end

  test "a label is one bounded line of UTF-8, and changing the String later changes no series" do
    name = +"a\n\xFF\e"
    @registry["errors_total"].update([name, "x" * 1_000], 1)
    name << "b"
    (topic, error), = @registry.snapshot["errors_total"].first

    assert_equal 'a\n\xFF\e', topic
    assert_operator error.bytesize, :<=, 250
    key = +"orders"
    @registry["errors_total"].update([key, "E"], 1)
    key << "2"
    @registry["errors_total"].update(%w[orders E], 1)
    assert_equal [2], rows("errors_total")[%w[orders E]]
  end

  test "the series of a gauge disappear with their owner, and those of several owners are added up" do
    lag = @registry["lag"]
    lag.replace("one", {%w[orders 0] => 5, %w[orders 1] => 6})
    lag.replace("two", {%w[orders 1] => 1})

    assert_equal({%w[orders 0] => [5], %w[orders 1] => [7]}, rows("lag"))
    lag.replace("one", {%w[orders 0] => 4})
    lag.remove("two") { |_topic, partition| partition == "1" }
    assert_equal({%w[orders 0] => [4]}, rows("lag"))
    lag.replace("one", {})
    refute_includes @registry.snapshot, "lag"
  end

  test "more partitions than fit are added up in one series" do
    @registry["lag"].replace("one", Array.new(1_500) { |number| ["orders", number.to_s] }.to_h { |labels| [labels, 2] })
    found = rows("lag")

    assert_equal [1_001, [1_000]], [found.size, found[%w[other other]]]
  end

  test "no update of eight threads is lost, also while snapshots are taken" do
    threads = Array.new(8) do |index|
      Thread.new do
        1_000.times do |number|
          @registry["calls_total"].update([], 1)
          @registry["took_seconds"].update(["t#{(number + index) % 3}"], 0.5)
          Thread.pass if (number % 100).zero?
        end
      end
    end
    sums = []
    sums << @registry.snapshot["calls_total"][0][1][0] while threads.any?(&:alive?)
    threads.each(&:join)

    assert_equal sums.sort, sums
    assert_equal [8_000], rows("calls_total")[[]]
    assert_equal 8_000, rows("took_seconds").values.sum { |_sum, *counts| counts.sum }
  end

  test "a child of a fork begins at zero, although another thread of its parent had the lock" do
    now = 100.0
    registry = Metrics::Registry.new(METRICS + [Metrics::Catalogue::ALL.find { |one| one.name == "process_start_time_seconds" }],
      now: -> { now })
    registry["calls_total"].update([], 1)
    lock = registry["calls_total"].instance_variable_get(:@lock)
    held, done = Queue.new, Queue.new
    thread = Thread.new { lock.synchronize { held << true && done.pop } }.tap { held.pop }
    now = 200.0
    registry.reset
    registry["calls_total"].update([], 1)

    assert_equal [[[], [1]]], registry.snapshot["calls_total"]
    assert_equal [[[], [200.0]]], registry.snapshot["process_start_time_seconds"]
  ensure
    done << true
    thread.join
  end

  test "an update costs at most 3 us of CPU time when the machine is idle" do
    family = @registry["took_seconds"]
    labels = ["orders"].freeze
    best = Array.new(5) { cpu_us(10_000) { family.update(labels, 0.5) } }.min

    assert_operator best, :<, 9
  end

  # @return [Float] microseconds of this thread's CPU time per call
  def cpu_us(count)
    before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    count.times { yield }
    (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before) * 1_000_000 / count
  end
end
