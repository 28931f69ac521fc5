# frozen_string_literal: true

require_relative "../harness/watching"
require_relative "../harness/workload"

module Bench
  # P8: the cost of an idle consumer, measured from outside.
  class Idle < Workload
    include Watching

    NAME = "P8"
    TITLE = "idle, 50 partitions: CPU, voluntary switches and threads over 20 s"

    def columns = %w[cpu_s switches_per_s threads rss_mb]

    def prepare
      topics.create("bench-idle", partitions: 50)
    end

    def sides
      [side("Penstock", :ours, "penstock/server.rb"), side("Karafka", :peer, "karafka/server.rb")]
    end

    def figures(results)
      [
        at_most("CPU against Karafka's", ratio(results, "Penstock", "Karafka", "cpu_s"), 1, "×"),
        at_most("switches a second above Karafka's", above(results), 2),
        at_most("threads when no job has run", values(results, "Penstock", "threads"), 10),
        seen("CPU in #{watched_s} s", values(results, "Penstock", "cpu_s"), "s")
      ]
    end

    private

    def side(name, kind, program)
      Side.new(name: name, kind: kind, settings: {}, measure: -> { watch(program, settings: {}, topics: ["bench-idle"]) })
    end

    def above(results)
      ours, theirs = ["Penstock", "Karafka"].map { |side| values(results, side, "switches_per_s") }
      Statistics.differences(ours, theirs)
    end
  end
end
