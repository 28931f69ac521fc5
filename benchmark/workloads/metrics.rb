# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The time that metrics add to a call of `consume`: three of them are updated. On one thread, without Kafka.
  class Metrics < Workload
    NAME = "METRICS"
    TITLE = "metrics of a call of consume, by system, beyond an event that nobody counts; and when nobody listens"
    CALLS = 50_000
    SYSTEMS = {"Prometheus" => "prometheus", "StatsD" => "stats_d", "StatsD, Karafka's names" => "karafka",
               "OpenTelemetry" => "open_telemetry", "Yabeda" => "yabeda"}.freeze
    OWN = ["Prometheus", "StatsD"].freeze
    # A call in KEYED-NOOP where each record has a key of its own, and so a call: 81,600 a CPU second.
    KEYED_NOOP_NS = 1_000_000_000 / 81_600.0
    GEMS = File.expand_path("../../vendor/bundle", __dir__)

    def columns = %w[us_a_call objects_a_call]

    def sides
      {"nobody" => nil, **SYSTEMS}.map do |name, system|
        ruby(name, :ours, "penstock/metrics.rb", calls: scaled(CALLS), gems: GEMS, system: system)
      end
    end

    def figures(results)
      nobody = values(results, "nobody", "us_a_call").map { |us| us * 1_000 / KEYED_NOOP_NS * 100 }
      [
        at_most("nobody listens, share of a call of KEYED-NOOP", nobody, 1, "%"),
        *OWN.map { |name| at_most("#{name}, a call", values(results, name, "us_a_call"), 3, "µs") },
        *(SYSTEMS.keys - OWN).map { |name| seen("#{name}, a call", values(results, name, "us_a_call"), "µs") }
      ]
    end
  end
end
