# frozen_string_literal: true

require_relative "../harness/watching"
require_relative "../harness/workload"

module Bench
  # P14: what librdkafka's statistics cost a process with many partitions.
  class ClientStatistics < Workload
    include Watching

    NAME = "P14"
    TITLE = "statistics: 1,000 idle partitions over 20 s, off, by default, each 5 s and 1 s; 2,000 known, 10 assigned"
    IDLE = "bench-statistics-1000"
    KNOWN = "bench-statistics-2000"

    def columns = %w[cpu_s tick_ms tick_objects threads rss_mb]

    def prepare
      topics.create_settled(IDLE, partitions: 1_000)
      topics.create_settled(KNOWN, partitions: 2_000)
    end

    def sides
      [idle("off", {"statistics.interval.ms": 0}), idle("default"), idle("5 s", {"statistics.interval.ms": 5_000}),
        idle("1 s", {"statistics.interval.ms": 1_000}), idle("metrics", metrics: true),
        Side.new(name: "2,000 known, 10 assigned", kind: :ours, settings: {}, measure: -> { ticks })]
    end

    def figures(results)
      [
        at_most("CPU at default settings against off", ratio(results, "default", "off", "cpu_s"), 1.2, "×"),
        seen("each 5 s, nobody reads them", ratio(results, "5 s", "off", "cpu_s"), "×"),
        seen("each 1 s, nobody reads them", ratio(results, "1 s", "off", "cpu_s"), "×"),
        seen("each 5 s, for metrics", ratio(results, "metrics", "off", "cpu_s"), "×"),
        at_most("Ruby of a tick with a listener, 10 of 2,000", values(results, "2,000 known, 10 assigned", "tick_ms"), 0.5, "ms"),
        at_most("objects of a tick with a listener", values(results, "2,000 known, 10 assigned", "tick_objects"), 200)
      ]
    end

    private

    def idle(name, kafka = {}, **settings)
      settings = {**settings, kafka: kafka}
      Side.new(name: name, kind: :ours, settings: settings,
        measure: -> { watch("penstock/server.rb", settings: settings, topics: [IDLE]) })
    end

    def ticks
      RubySide.run("penstock/statistics.rb", {bootstrap: broker.bootstrap, group: group, settings: {}, topics: [KNOWN],
        assigned: 10, ticks: options.quick ? 5 : 20})
    end
  end
end
