# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # How long a test takes that runs the whole application on the in-memory Kafka. Needs no broker of its own.
  class Memory < Workload
    NAME = "MEMORY"
    TITLE = "testing kit: consume_all of 10 records in a new example; travel of a day; CPU of the thread"
    EXAMPLES = 2_000

    def columns = %w[consume_all_ms travel_ms]

    def sides = [ruby("consume_all", :ours, "penstock/memory.rb", examples: scaled(EXAMPLES))]

    def figures(results)
      [
        at_most("consume_all of 10 records, a whole example", values(results, "consume_all",
          "consume_all_ms"), 10, "ms"),
        seen("travel of a day with a tick each minute", values(results, "consume_all", "travel_ms"), "ms")
      ]
    end
  end
end
