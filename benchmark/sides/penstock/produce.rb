# frozen_string_literal: true

# Asynchronous: dispatched one by one or in slices, then flushed: the last stamp is taken when all are delivered.
require "penstock"
require_relative "../probe"

settings = Probe["settings"]
producer = Penstock::Producer.new { |config| config.kafka = Probe.kafka("request.required.acks": "all") }
topic, payload = Probe["topic"], "x" * Probe["bytes"]
producer.partition_count(topic)

PROBE.first
if settings["many"]
  slice = Array.new(settings["many"], {topic: topic, payload: payload})
  (Probe["records"] / slice.size).times { producer.produce_many_async(slice) }
elsif settings["handle"] == false
  Probe["records"].times { producer.produce_async(topic: topic, payload: payload, handle: false) }
else
  Probe["records"].times { producer.produce_async(topic: topic, payload: payload) }
end
producer.close
PROBE.finish(records: Probe["records"])
