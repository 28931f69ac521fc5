# frozen_string_literal: true

require_relative "../harness/watching"
require_relative "../harness/workload"

module Bench
  # P8: the cost of an idle consumer, measured from outside.
  class Idle < Workload
    include Watching

    NAME = "P8"
    TITLE = "idle, 50 partitions; 2,000; 50 groups of one each: CPU, voluntary switches and threads over 20 s"
    # More than a process should have, which must be affordable all the same.
    MANY = "bench-idle-2000"
    GROUPS = 50

    def columns = %w[cpu_s switches_per_s threads rss_mb]

    def prepare
      topics.create("bench-idle", partitions: 50)
      topics.create("bench-idle-1", partitions: 1)
      topics.create_settled(MANY, partitions: 2_000)
    end

    def sides
      [side("Penstock", :ours, "penstock/server.rb"), side("Karafka", :peer, "karafka/server.rb"),
        side("2,000 partitions", :ours, "penstock/server.rb", topics: [MANY]),
        side("50 groups", :ours, "penstock/server.rb", topics: ["bench-idle-1"], groups: GROUPS)]
    end

    def figures(results)
      [
        at_most("CPU against Karafka's", ratio(results, "Penstock", "Karafka", "cpu_s"), 1, "×"),
        at_most("switches a second above Karafka's", above(results), 2),
        at_most("threads when no job has run", values(results, "Penstock", "threads"), 10),
        seen("CPU in #{watched_s} s", values(results, "Penstock", "cpu_s"), "s"),
        at_most("2,000 partitions, CPU in #{watched_s} s", values(results, "2,000 partitions", "cpu_s"), 0.2, "s"),
        at_most("2,000 partitions, RSS", values(results, "2,000 partitions", "rss_mb"), 100, "MB"),
        at_most("50 groups, CPU in #{watched_s} s", values(results, "50 groups", "cpu_s"), 0.4, "s"),
        at_most("50 groups, threads", values(results, "50 groups", "threads"), 160)
      ]
    end

    private

    def side(name, kind, program, topics: ["bench-idle"], **parameters)
      Side.new(name: name, kind: kind, settings: {},
        measure: -> { watch(program, settings: {}, topics: topics, **parameters) })
    end

    def above(results)
      ours, theirs = ["Penstock", "Karafka"].map { |side| values(results, side, "switches_per_s") }
      Statistics.differences(ours, theirs)
    end
  end
end
