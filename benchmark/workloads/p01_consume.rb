# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P1: how fast records reach user code that only touches their bytes.
  class Consume < Workload
    NAME = "P1"
    TITLE = "consume 1M × 100 B from 6 partitions, payload touched; rate from the first record to the last"
    RECORDS = 1_000_000
    # Both sides of a tuned pair get the same.
    TUNED = {"kafka" => {"fetch.queue.backoff.ms" => "10"}, "max_messages" => 1_000}.freeze

    def columns = %w[rate rate_with_start boot_s cpu_s broker_cpu_s rss_mb objects gc]

    def prepare
      topics.fill("bench-bulk-#{records}", partitions: 6, records: records, bytes: 100)
    end

    def sides
      [
        consume("Penstock", :ours, "penstock/server.rb"), consume("Karafka", :peer, "karafka/server.rb"),
        consume("Penstock tuned", :ours, "penstock/server.rb", TUNED),
        consume("Karafka tuned", :peer, "karafka/server.rb", TUNED),
        java, c("C with lanes", "consume", {"fetch.queue.backoff.ms" => "20", "queued.min.messages" => "10000"},
          topic: topic, records: records),
        consume("rdkafka-ruby", :peer, "rdkafka/consume.rb"),
        consume("rdkafka-ruby tuned", :peer, "rdkafka/consume.rb", {"kafka" => {"fetch.queue.backoff.ms" => "10"}})
      ]
    end

    def figures(results)
      [
        at_least("against Karafka, both at defaults", ratio(results, "Penstock", "Karafka"), 12, "×"),
        at_least("against Karafka, both tuned", ratio(results, "Penstock tuned", "Karafka tuned"), 8, "×"),
        at_least("against Java with rebalance", ratio(results, "Penstock", "Java"), 1, "×"),
        at_least("tuned, against Java with rebalance", ratio(results, "Penstock tuned", "Java"), 1, "×"),
        at_least("against Java's fetch rate", against_fetch(results, "Penstock"), 1, "×"),
        at_least("tuned, against Java's fetch rate", against_fetch(results, "Penstock tuned"), 1, "×"),
        seen("share of C with lanes", ratio(results, "Penstock", "C with lanes"), "×"),
        at_most("objects a record", values(results, "Penstock", "objects"), 3),
        at_most("RSS after 1M records", values(results, "Penstock", "rss_mb"), 150, "MB")
      ]
    end

    private

    def records = scaled(RECORDS)

    def topic = "bench-bulk-#{records}"

    def consume(name, kind, program, settings = {})
      ruby(name, kind, program, settings, body: "touch", topics: [topic], records: records) do |result|
        with_start(rated(result))
      end
    end

    # The rate that also includes the time from exec to the first record.
    def with_start(result)
      result.merge("rate_with_start" => (result["records"] / (result["boot_s"] + result["seconds"])).round)
    end

    def against_fetch(results, side)
      Statistics.ratios(values(results, side, "rate"), values(results, "Java", "fetch_rate"))
    end

    def java
      Side.new(name: "Java", kind: :bound, settings: {}, measure: -> { run_java })
    end

    # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
    def run_java
      output = java_tool("org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, "--group", group,
        "--num-records", records.to_s, "--hide-header")
      fields = output.lines.grep(/^\d{4}-/).last.to_s.split(", ")
      raise "no figures from ConsumerPerformance:\n#{output}" if fields.size < 10

      {"rate" => fields[5].to_f.round, "fetch_rate" => fields[9].to_f.round, "records" => fields[4].to_i}
    end
  end
end
