# frozen_string_literal: true

# The driver's batches, read record by record as user code does.
require_relative "raw_batches"

UNIT = 100

RawBatches.new(Probe["topics"], 4 * UNIT).each do |batch|
  PROBE.first
  (0...batch.size).step(UNIT) do |first|
    bytes = 0
    messages = Penstock::Messages.new(batch, first, [UNIT, batch.size - first].min)
    messages.each { |message| bytes += message.raw_payload.bytesize }
    PROBE.add(messages.size, bytes)
  end
end
