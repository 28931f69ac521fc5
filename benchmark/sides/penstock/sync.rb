# frozen_string_literal: true

require "penstock"
require_relative "../sync_loop"

producer = Penstock::Producer.new { |config| config.kafka = Probe.kafka("request.required.acks": "all") }
message = {topic: Probe["topic"], payload: "x" * 100}
SyncLoop.run { producer.produce_sync(**message) }
