# frozen_string_literal: true

# Asynchronous: dispatched one by one or in slices, then flushed: the last stamp is taken when all are delivered.
require "penstock"
require_relative "../probe"

settings = Probe["settings"]
producer = Penstock::Producer.new { |config| config.kafka = Probe.kafka("request.required.acks": "all") }
message = {topic: Probe["topic"], payload: "x" * Probe["bytes"]}
producer.partition_count(Probe["topic"])

PROBE.first
if settings["many"]
  slice = Array.new(settings["many"], message)
  (Probe["records"] / slice.size).times { producer.produce_many_async(slice) }
elsif settings["handle"] == false
  Probe["records"].times { producer.produce_async(**message, handle: false) }
else
  Probe["records"].times { producer.produce_async(**message) }
end
producer.close
PROBE.finish(records: Probe["records"])
