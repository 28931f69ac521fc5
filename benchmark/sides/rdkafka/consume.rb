# frozen_string_literal: true

# The plain binding: one record per call, its documented loop.
gem "rdkafka"
require "rdkafka"
require_relative "../probe"

options = Probe.kafka("group.id": Probe["group"], "auto.offset.reset": "earliest", "enable.auto.commit": false)
consumer = Rdkafka::Config.new(options).consumer
consumer.subscribe(*Probe["topics"])
bytes = 0
count = 0
consumer.each do |message|
  PROBE.first if count.zero?
  bytes += message.payload.bytesize
  count += 1
  PROBE.finish(records: count) if count == Probe["records"]
end
