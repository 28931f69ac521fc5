# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The time that a test suite of an application spends in the testing kit.
  class TestingKit < Workload
    NAME = "TESTING"
    TITLE = "1,000 examples, each with a consumer of its own that gets a message and produces one; 20 topics in the routes"
    EXAMPLES = 1_000

    def columns = %w[seconds cpu_s objects]

    def sides
      [ruby("examples", :ours, "penstock/testing_kit.rb", examples: scaled(EXAMPLES), topics: 20)]
    end

    def figures(results)
      return [] if options.quick

      [
        at_most("1,000 examples with consumer_for", values(results, "examples", "seconds"), 2.0, "s"),
        seen("their CPU time: they wait for nothing", values(results, "examples", "cpu_s"), "s")
      ]
    end
  end
end
