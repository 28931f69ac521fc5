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
        private_constant :COUNTS, :TRUTHS, :BREAKERS

        # @param registry [Registry]
        # @param vitals [Hash{Symbol => Object}] see {Application#vitals}
        # @return [void]
        def self.set(registry, vitals)
          COUNTS.each { |key, name| registry[name].update([], vitals[key]) if vitals[key] }
          TRUTHS.each { |key, name| registry[name].update([], vitals[key] ? 1 : 0) }
          open = (vitals[:breakers] || []).flat_map { |breaker| breaker[:topics] }.tally
          registry[BREAKERS].replace(self, open.transform_keys { |topic| [topic] })
        end
      end
    end
  end
end
