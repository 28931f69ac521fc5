# frozen_string_literal: true

gem "rdkafka"
require "rdkafka"
require_relative "../probe"

options = Probe.kafka("group.id": Probe["group"], "auto.offset.reset": "earliest", "enable.auto.commit": false)
consumer = Rdkafka::Config.new(options).consumer
consumer.subscribe(*Probe["topics"])
samples = []
consumer.each do |message|
  now = PROBE.now_ns
  sequence, stamp = message.payload.split.map(&:to_i)
  PROBE.event("ready") if sequence.zero?
  next if sequence < Probe["warm"]

  PROBE.first
  samples << (now - stamp)
  PROBE.finish(PROBE.percentiles(samples), records: samples.size) if sequence == Probe["last"]
end
