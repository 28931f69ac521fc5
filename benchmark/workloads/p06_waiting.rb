# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P6: jobs that wait, as most do; how busy the workers are kept.
  class Waiting < Workload
    NAME = "P6"
    TITLE = "20,000 records in 10 partitions, 1 ms of waiting each, 10 workers"
    RECORDS = 20_000
    WORKERS = {"concurrency" => 10}.freeze

    def prepare
      topics.fill_evenly(topic, partitions: 10, records: records)
    end

    def sides
      [
        wait("Penstock", :ours, "penstock/server.rb"),
        ruby("bare threads", :bound, "ruby/threads.rb", WORKERS, records: records, wait_ms: 1),
        wait("Karafka", :peer, "karafka/server.rb"),
        wait("Karafka, max_messages 5,000", :peer, "karafka/server.rb", {"max_messages" => 5_000})
      ]
    end

    def figures(results)
      [
        at_least("records a second", values(results, "Penstock", "rate"), 8_500, "/s"),
        seen("share of bare threads", ratio(results, "Penstock", "bare threads"), "×"),
        seen("against Karafka", ratio(results, "Penstock", "Karafka"), "×")
      ]
    end

    private

    # Never scaled: a tenth of it would measure the start.
    def records = RECORDS

    def topic = "bench-waiting"

    def wait(name, kind, program, settings = {})
      ruby(name, kind, program, {**WORKERS, **settings}, body: "wait", topics: [topic], records: records, wait_ms: 1)
    end
  end
end
