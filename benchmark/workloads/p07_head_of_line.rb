# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P7: whether a lane suffers from slow jobs on other lanes. Two workers; the free lane alone, next to one slow
  # partition of its own topic, and next to as many slow partitions of another topic as there are workers.
  class HeadOfLine < Workload
    NAME = "P7"
    TITLE = "a free partition next to slow ones (200 ms a record), 2 workers; rate of the free one, at most 15 s"
    RECORDS = 2_000_000
    SLOW_RECORDS = 2_000
    SETTINGS = {"concurrency" => 2}.freeze

    def columns = %w[rate records seconds cpu_s]

    def prepare
      topics.create("bench-alone", partitions: 2)
      topics.create("bench-beside", partitions: 2)
      topics.create("bench-free", partitions: 1)
      topics.create("bench-slow", partitions: 2)
      [["bench-alone", 1], ["bench-beside", 1], ["bench-free", 0]].each do |topic, partition|
        topics.fill_partition(topic, partition, records: records)
      end
      [["bench-beside", 0], ["bench-slow", 0], ["bench-slow", 1]].each do |topic, partition|
        topics.fill_partition(topic, partition, records: SLOW_RECORDS)
      end
    end

    def sides
      [["Penstock", :ours, "penstock/server.rb"],
        ["Karafka", :peer, "karafka/server.rb"]].flat_map do |name, kind, program|
        [
          lane("#{name}, free alone", kind, program, ["bench-alone"], []),
          lane("#{name}, one slow next to it", kind, program, ["bench-beside"], ["bench-beside/0"]),
          lane("#{name}, two slow in another topic", kind, program, %w[bench-free bench-slow],
            %w[bench-slow/0 bench-slow/1])
        ]
      end
    end

    def figures(results)
      alone = "Penstock, free alone"
      [
        at_least("free lane next to a slow one, of its rate alone",
          ratio(results, "Penstock, one slow next to it", alone), 0.95, "×"),
        at_least("free topic next to as many slow lanes as workers",
          ratio(results, "Penstock, two slow in another topic", alone), 0.95, "×"),
        seen("Karafka: free lane next to a slow one",
          ratio(results, "Karafka, one slow next to it", "Karafka, free alone"), "×")
      ]
    end

    private

    def records = scaled(RECORDS)

    def lane(name, kind, program, topics, slow)
      ruby(name, kind, program, SETTINGS, body: "head_of_line", topics: topics, slow: slow, seconds: 15,
        records: records)
    end
  end
end
