# frozen_string_literal: true

# The plain binding: a handle per record, all awaited.
gem "rdkafka"
require "rdkafka"
require_relative "../probe"

producer = Rdkafka::Config.new(Probe.kafka(acks: "all")).producer
payload = "x" * Probe["bytes"]
producer.partition_count(Probe["topic"])
PROBE.first
handles = Array.new(Probe["records"]) do
  producer.produce(topic: Probe["topic"], payload: payload)
rescue Rdkafka::RdkafkaError => error
  raise unless error.code == :queue_full

  sleep 0.005
  retry
end
handles.each { |handle| handle.wait(max_wait_timeout: 60) }
PROBE.finish(records: handles.size)
