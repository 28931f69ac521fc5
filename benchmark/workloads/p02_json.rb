# frozen_string_literal: true

require "json"
require_relative "../harness/workload"

module Bench
  # P2: what the framework adds to parsing.
  class Json < Workload
    NAME = "P2"
    TITLE = "consume 1M × 200 B of JSON from 6 partitions, each parsed; the bound parses the same strings without Kafka"
    RECORDS = 1_000_000
    TUNED = {"kafka" => {"fetch.queue.backoff.ms" => "10"}, "max_messages" => 1_000}.freeze

    def prepare
      topics.fill_from(topic, partitions: 6, records: records, payloads: payloads)
      FileUtils.mkdir_p(File.dirname(payload_file))
      File.write(payload_file, payloads.join("\n"))
    end

    def sides
      [
        consume("Penstock", :ours, "penstock/server.rb"),
        ruby("bare loop", :bound, "ruby/parse.rb", payloads: payload_file, records: records),
        consume("Karafka", :peer, "karafka/server.rb"), consume("Karafka tuned", :peer, "karafka/server.rb", TUNED)
      ]
    end

    def figures(results)
      [
        at_least("share of a bare loop over the same strings", ratio(results, "Penstock", "bare loop"), 0.8, "×"),
        at_most("CPU added to a bare loop, a record", added(results), 1.2, "µs"),
        at_least("against Karafka, both at defaults", ratio(results, "Penstock", "Karafka"), 6, "×")
      ]
    end

    private

    def added(results)
      sides = ["Penstock", "bare loop"].map { |side| values(results, side, "cpu_s") }
      Statistics.differences(*sides).map { |seconds| seconds * 1e6 / records }
    end

    def records = scaled(RECORDS)

    def topic = "bench-json-#{records}"

    def payload_file = File.join(RubySide::ROOT, "benchmark/tmp/payloads.json")

    def consume(name, kind, program, settings = {})
      ruby(name, kind, program, settings, body: "parse", topics: [topic], records: records)
    end

    # Orders of about 200 bytes, the same on every run.
    def payloads
      random = Random.new(42)
      Array.new(1_000) do |id|
        JSON.generate(id: id, customer: "customer-#{random.rand(1_000)}", cents: random.rand(100_000), currency: "EUR",
          placed_at: "2026-01-01T00:00:00Z", items: [{sku: "sku-#{random.rand(9_999)}", count: random.rand(9)}],
          note: "x" * 40)
      end
    end
  end
end
