# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Metrics
      # Sets the gauges that are read at each scrape, from what `/health` shows too. Stateless.
      module ProcessGauges
        COUNTS = {running: "penstock_running_jobs", partitions: "penstock_partitions",
                  rss_bytes: "process_resident_memory_bytes"}.freeze
        TRUTHS = {live: "penstock_live", ready: "penstock_ready"}.freeze
        BREAKERS = "penstock_consumer_breakers_open"
        # Of a server, and of a supervisor: any other process, such as one that only produces, can't be ready.
        OF_CONSUMERS = %i[member nodes].freeze
        private_constant :COUNTS, :TRUTHS, :BREAKERS, :OF_CONSUMERS

        # @param registry [Registry]
        # @param vitals [Hash{Symbol => Object}] see {Application#vitals}
        # @return [void]
        def self.set(registry, vitals)
          COUNTS.each { |key, name| registry[name].update([], vitals[key]) if vitals[key] }
          truths = TRUTHS
          truths = truths.slice(:live) if OF_CONSUMERS.none? { |key| vitals.key?(key) }
          truths.each { |key, name| registry[name].update([], vitals[key] ? 1 : 0) }
          open = (vitals[:breakers] || []).flat_map { |breaker| breaker[:topics] }.tally
          registry[BREAKERS].replace(self, open.transform_keys { |topic| [topic] })
        end
      end
    end
  end
end
