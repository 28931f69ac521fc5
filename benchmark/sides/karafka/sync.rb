# frozen_string_literal: true

require "waterdrop"
require_relative "../sync_loop"

producer = WaterDrop::Producer.new { |config| config.kafka = Probe.kafka("request.required.acks": "all") }
message = {topic: Probe["topic"], payload: "x" * 100}
SyncLoop.run { producer.produce_sync(message) }
