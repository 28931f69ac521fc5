# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P3: asynchronous producing until every record is acknowledged by all in-sync replicas.
  class Produce < Workload
    NAME = "P3"
    ALSO = %w[PRODUCE-ASYNC PRODUCE-MANY].freeze
    TITLE = "produce 500k × 100 B, acks=all, from the first call until all are delivered"
    RECORDS = 500_000
    # Settings known to help WaterDrop: a queue that accepts everything, and time to fill batches.
    TUNED = {"kafka" => {"queue.buffering.max.messages" => "1000000", "linger.ms" => "20"}}.freeze
    PEERS = ["WaterDrop", "WaterDrop tuned", "WaterDrop many"].freeze

    def prepare
      topics.create(topic, partitions: 6)
    end

    def sides
      [
        produce("Penstock", :ours, "penstock/produce.rb"), produce("WaterDrop", :peer, "karafka/produce.rb"),
        produce("Penstock many", :ours, "penstock/produce.rb", {"many" => 1_000}),
        produce("WaterDrop many", :peer, "karafka/produce.rb", {"many" => 1_000}),
        produce("Penstock no handle", :ours, "penstock/produce.rb", {"handle" => false}),
        produce("WaterDrop tuned", :peer, "karafka/produce.rb", TUNED),
        java, c("C", "produce", {"acks" => "all"}, topic: topic, records: records, bytes: 100),
        produce("rdkafka-ruby", :peer, "rdkafka/produce.rb")
      ]
    end

    def figures(results)
      peer = best(results, PEERS)
      [
        at_least("one by one against WaterDrop's best (#{peer})", ratio(results, "Penstock", peer), 8, "×"),
        at_least("one by one against Java", ratio(results, "Penstock", "Java"), 1.5, "×"),
        at_least("produce_many against Java", ratio(results, "Penstock many", "Java"), 3, "×"),
        at_least("without handles against Java", ratio(results, "Penstock no handle", "Java"), 3, "×"),
        seen("share of bare C, one by one", ratio(results, "Penstock", "C"), "×"),
        at_most("objects a record", values(results, "Penstock", "objects"), 4)
      ]
    end

    private

    def records = scaled(RECORDS)

    def topic = "bench-produce"

    def produce(name, kind, program, settings = {})
      ruby(name, kind, program, settings, topic: topic, records: records, bytes: 100)
    end

    def java
      Side.new(name: "Java", kind: :bound, settings: {"acks" => "all"}, measure: lambda {
        output = java_tool("org.apache.kafka.tools.ProducerPerformance", "--topic", topic,
          "--num-records", records.to_s, "--record-size", "100", "--throughput", "-1", "--command-property", "acks=all")
        {"rate" => output[/#{records} records sent, ([\d.]+) records\/sec/, 1].to_f.round, "records" => records}
      })
    end
  end
end
