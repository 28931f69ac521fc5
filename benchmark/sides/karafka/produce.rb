# frozen_string_literal: true

# WaterDrop, asynchronous: everything dispatched one by one or in slices of 1,000, then closed, which flushes.
require "waterdrop"
require_relative "../probe"

settings = Probe["settings"]
producer = WaterDrop::Producer.new do |config|
  config.kafka = Probe.kafka("request.required.acks": "all")
  settings["config"]&.each { |name, value| config.public_send(:"#{name}=", value) }
end
message = {topic: Probe["topic"], payload: "x" * Probe["bytes"]}
delivered = 0
producer.monitor.subscribe("message.acknowledged") { delivered += 1 } if settings["count"]
producer.partition_count(Probe["topic"])

PROBE.first
if settings["many"]
  slice = Array.new(settings["many"], message)
  (Probe["records"] / slice.size).times { producer.produce_many_async(slice) }
else
  Probe["records"].times { producer.produce_async(message) }
end
producer.close
PROBE.finish({delivered: delivered}, records: Probe["records"])
