# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P9: from the produce call of one process to user code in another, at a calm rate.
  class EndToEnd < Workload
    NAME = "P9"
    TITLE = "end to end at 200 records a second; a C program produces with linger 0"
    RATE = 200
    WARM = 400

    def columns = %w[p50_ms p99_ms max_ms cpu_s rss_mb]

    def sides
      [
        side("Penstock", :ours, "penstock/server.rb"), side("Karafka", :peer, "karafka/server.rb"),
        side("Karafka, max_wait_time 10", :peer, "karafka/server.rb", {"max_wait_time" => 10}),
        side("Karafka, max_messages 1", :peer, "karafka/server.rb", {"max_messages" => 1}),
        side("rdkafka-ruby", :peer, "rdkafka/end_to_end.rb")
      ]
    end

    def figures(results)
      [
        at_most("p50 at default settings", values(results, "Penstock", "p50_ms"), 0.6, "ms"),
        at_most("p99 at default settings", values(results, "Penstock", "p99_ms"), 3, "ms"),
        at_most("CPU against Karafka's at its default", ratio(results, "Penstock", "Karafka", "cpu_s"), 1, "×"),
        at_most("CPU against rdkafka-ruby's bare loop", ratio(results, "Penstock", "rdkafka-ruby", "cpu_s"), 1.4, "×")
      ]
    end

    private

    def count = WARM + scaled(2_000)

    def side(name, kind, program, settings = {})
      Side.new(name: name, kind: kind, settings: settings, measure: -> { pair(program, settings) })
    end

    # A topic of its own per run: records of an earlier producer would be late by minutes.
    def pair(program, settings)
      topic = topics.create("bench-pace-#{SecureRandom.hex(4)}")
      consumer = RubySide.spawn(program, {bootstrap: broker.bootstrap, group: group, settings: settings,
        body: "end_to_end", topics: [topic], warm: WARM, last: count - 1})
      sleep 4
      run_c("pace", {}, topic: topic, records: count, rate: RATE)
      rated(consumer.await("result", within: 30))
    ensure
      consumer&.stop
    end
  end
end
