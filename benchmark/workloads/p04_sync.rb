# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P4: one synchronous produce after another: the cost for a web request that waits for its record.
  class Sync < Workload
    NAME = "P4"
    ALSO = %w[PRODUCE-SYNC].freeze
    TITLE = "produce_sync one after another, 100 B, acks=all, against a local broker"
    RECORDS = 3_000
    NO_LINGER = {"kafka" => {"linger.ms" => "0"}}.freeze

    def columns = %w[p50_ms p99_ms rate cpu_s objects]

    def prepare
      topics.create(topic)
    end

    def sides
      [
        sync("Penstock", :ours, "penstock/sync.rb"), sync("WaterDrop", :peer, "karafka/sync.rb"),
        sync("Penstock linger 0", :ours, "penstock/sync.rb", NO_LINGER), bare("C linger 0", {"linger.ms" => "0"}),
        sync("WaterDrop linger 0", :peer, "karafka/sync.rb", NO_LINGER), bare("C", {}),
        sync("rdkafka-ruby linger 0", :peer, "rdkafka/sync.rb", NO_LINGER)
      ]
    end

    def figures(results)
      [
        at_most("p50 at default settings", values(results, "Penstock", "p50_ms"), 0.3, "ms"),
        at_most("p50 added to C at linger 0", added(results, "p50_ms"), 60, "µs"),
        at_most("p99 added to C at linger 0", added(results, "p99_ms"), 250, "µs"),
        at_most("p50 at linger 0 against WaterDrop's",
          ratio(results, "Penstock linger 0", "WaterDrop linger 0", "p50_ms"), 1, "×"),
        seen("p99 at default settings", values(results, "Penstock", "p99_ms"), "ms")
      ]
    end

    private

    def topic = "bench-sync"

    def sync(name, kind, program, settings = {})
      ruby(name, kind, program, settings, topic: topic, records: scaled(RECORDS), warm: 200)
    end

    def bare(name, kafka)
      c(name, "sync", {"acks" => "all", **kafka}, topic: topic, records: scaled(RECORDS))
    end

    # Microseconds between the two, pair by pair.
    def added(results, column)
      Statistics.differences(values(results, "Penstock linger 0", column), values(results, "C linger 0", column))
        .map { |milliseconds| (milliseconds * 1_000).round(1) }
    end
  end
end
