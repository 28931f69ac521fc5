# frozen_string_literal: true

# Produces records at an even rate, partition by partition, until it is ended.
require_relative "../probe"
require "penstock"

producer = Penstock::Producer.new { |config| config.kafka = Probe.kafka }
step_s = 0.02
total = 0
began = PROBE.now_ns
PROBE.event("feeding")
loop do
  due = ((PROBE.now_ns - began) * Probe["rate"] / 1_000_000_000) - total
  due.times do
    producer.produce_async(topic: Probe["topics"].first, payload: "x" * 100, partition: total % Probe["partitions"])
    total += 1
  end
  sleep(step_s)
end
