# frozen_string_literal: true

require "securerandom"
require_relative "../harness/workload"

module Bench
  # Transactions of a hundred records, one after another. "Records" of the table are transactions.
  #
  # A new broker takes a few thousand until its coordinator is compiled, and until then each run is quicker than the one
  # before: the side that is measured first would be at a disadvantage.
  class Transactions < Workload
    NAME = "TRANSACTIONS"
    TITLE = "transactions of 100 records of 100 B, one after another, against a local broker"
    BATCH = 100
    COUNT = 1_500
    WARM = 3_000

    # The C program gets the same settings as Penstock::Producer.
    SETTINGS = {"socket.nagle.disable" => "true", "message.timeout.ms" => "150000", "transaction.timeout.ms" => "165000"}.freeze

    def columns = %w[p50_ms p99_ms rate cpu_s objects]

    def prepare
      topics.create(topic)
      2.times { run_c("transactions", identified, topic: topic, transactions: scaled(WARM), batch: BATCH) }
    end

    def sides
      [
        ruby("Penstock", :ours, "penstock/transactions.rb", topic: topic, records: scaled(COUNT), warm: 20, batch: BATCH),
        c("C", "transactions", identified, topic: topic, transactions: scaled(COUNT), warm: 20, batch: BATCH)
      ]
    end

    def figures(results)
      [
        at_least("share of bare C", ratio(results, "Penstock", "C"), 0.9, "×"),
        seen("p50 against bare C's", ratio(results, "Penstock", "C", "p50_ms"), "×"),
        seen("p50", values(results, "Penstock", "p50_ms"), "ms"),
        seen("transactions a second", values(results, "Penstock", "rate"), "/s")
      ]
    end

    private

    def topic = "bench-transactions"

    def identified = {"transactional.id" => "bench-c-#{SecureRandom.hex(6)}", **SETTINGS}
  end
end
