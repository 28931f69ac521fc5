# frozen_string_literal: true

require_relative "keyed"

module Bench
  # The cost of `config.lock_metrics`, with the load of KEYED-NOOP: its workers take the lock from each other most often.
  class LockMetrics < Workload
    include SideBySide

    NAME = "LOCK"
    TITLE = "one partition by key without work, 10 workers, 1,000 keys: with lock_metrics, and without"
    SETTINGS = {"window_records" => 10_000}.freeze

    def columns = %w[a_cpu_second rate disordered rss_mb]

    def prepare = topics.fill_keys(topic, records: records, keys: 1_000)

    def sides = [side("without", {}), side("with lock_metrics", {"lock_metrics" => true})]

    def figures(results)
      [
        at_least("records a CPU second, with against without", ratio(results, "with lock_metrics", "without", "a_cpu_second"),
          0.95, "×"),
        seen("records a second, with against without", ratio(results, "with lock_metrics", "without"), "×")
      ]
    end

    private

    def side(name, settings)
      keyed(name, {**SETTINGS, **settings}, body: "keyed", topics: [topic], records: records) do |result|
        rated(result).merge("a_cpu_second" => (result["records"] / result["cpu_s"]).round)
      end
    end

    def records = scaled(500_000)

    def topic = "bench-lock-#{records}"
  end
end
