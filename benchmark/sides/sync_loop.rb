# frozen_string_literal: true

require_relative "probe"

# One synchronous produce after another: some to warm up, then those that count.
module SyncLoop
  def self.run
    Probe["warm"].times { yield }
    PROBE.first
    samples = Array.new(Probe["records"]) do
      begun = PROBE.now_ns
      yield
      PROBE.now_ns - begun
    end
    PROBE.finish(PROBE.percentiles(samples), records: samples.size)
  end
end
