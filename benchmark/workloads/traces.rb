# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The cost of traces with OpenTelemetry's SDK and its processor of batches, whose exporter drops the spans. Needs no broker.
  class Traces < Workload
    NAME = "TRACES"
    ALSO = %w[traces].freeze
    TITLE = "a call of a producer, and of consume with 1 and 100 records of as many spans, with traces, beyond the call itself"
    GEMS = File.expand_path("../../vendor/bundle", __dir__)
    CALLS = 10_000

    def columns = %w[produce_us call_us call_objects batch_us record_us]

    def sides
      [Side.new(name: "Penstock", kind: :ours, settings: {}, measure: -> { measured })]
    end

    def figures(results)
      [
        seen("traces of a call that produces", values(results, "Penstock", "produce_us"), "µs"),
        seen("traces of a call of consume with one record", values(results, "Penstock", "call_us"), "µs"),
        seen("traces of a call with 100 records", values(results, "Penstock", "batch_us"), "µs"),
        seen("traces of a record with a span of its own", values(results, "Penstock", "record_us"), "µs")
      ]
    end

    private

    def measured
      raise "the gems of tests are missing: `bin/setup` installs them" unless File.directory?(GEMS)
      RubySide.run("penstock/traces.rb", {calls: scaled(CALLS), gems: GEMS})
    end
  end
end
