# frozen_string_literal: true

require "securerandom"
require_relative "../harness/workload"

module Bench
  # Transactions of a hundred records, one after another. "Records" of the table are transactions.
  class Transactions < Workload
    NAME = "TRANSACTIONS"
    TITLE = "transactions of 100 records of 100 B, one after another, against a local broker"
    BATCH = 100
    COUNT = 300

    def columns = %w[p50_ms p99_ms rate cpu_s objects]

    def prepare
      topics.create(topic)
    end

    def sides
      [
        ruby("Penstock", :ours, "penstock/transactions.rb", topic: topic, records: scaled(COUNT), warm: 20, batch: BATCH),
        c("C", "transactions", {"transactional.id" => "bench-c-#{SecureRandom.hex(6)}"},
          topic: topic, transactions: scaled(COUNT), batch: BATCH)
      ]
    end

    def figures(results)
      [
        at_least("share of bare C", ratio(results, "Penstock", "C"), 0.9, "×"),
        seen("p50", values(results, "Penstock", "p50_ms"), "ms"),
        seen("transactions a second", values(results, "Penstock", "rate"), "/s")
      ]
    end

    private

    def topic = "bench-transactions"
  end
end
