# frozen_string_literal: true

# An iterator over the whole topic: each payload is touched, as consumers' `consume` does.
require_relative "../probe"
require "penstock"
require "penstock/iterator"

STEP = 100
resident = -> { File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i }
count = bytes = 0
early = nil
Penstock::Iterator.new(Probe["topics"], settings: Probe.kafka).each do |message|
  PROBE.first if count.zero?
  bytes += message.raw_payload.bytesize
  next unless ((count += 1) % STEP).zero?

  PROBE.add(STEP, bytes, wanted: nil)
  bytes = 0
  early = resident.call if count == Probe["records"] / 5
end
PROBE.finish({growth_mb: ((resident.call - early) / 1024.0).round(1)}, records: count)
