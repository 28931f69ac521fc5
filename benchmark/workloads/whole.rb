# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The cost of units, ledger, settlement and commits on top of the driver's batches.
  class Whole < Workload
    NAME = "WHOLE"
    TITLE = "CPU of 1M × 100 B in units of 100, payload touched, against the driver's batches with the same loop over them"
    RECORDS = 1_000_000

    def columns = %w[cpu_us rate objects rss_mb]

    def prepare = topics.fill("bench-bulk-#{records}", partitions: 6, records: records, bytes: 100)

    def sides
      [side("Penstock", "penstock/server.rb"), side("raw batches", "penstock/raw.rb")]
    end

    def figures(results)
      [
        at_most("CPU against raw batches", ratio(results, "Penstock", "raw batches", "cpu_us"), 1.05, "×"),
        seen("CPU a record", values(results, "Penstock", "cpu_us"), "µs")
      ]
    end

    private

    def records = scaled(RECORDS)

    def side(name, program)
      ruby(name, :ours, program, {"concurrency" => 1}, body: "touch", topics: ["bench-bulk-#{records}"],
        records: records) do |result|
        rated(result).merge("cpu_us" => (result["cpu_s"] * 1e6 / result["records"]).round(3))
      end
    end
  end
end
