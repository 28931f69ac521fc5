# frozen_string_literal: true

gem "rdkafka"
require "rdkafka"
require_relative "../probe"
require_relative "../sync_loop"

producer = Rdkafka::Config.new(Probe.kafka(acks: "all")).producer
payload = "x" * 100
SyncLoop.run { producer.produce(topic: Probe["topic"], payload: payload).wait }
