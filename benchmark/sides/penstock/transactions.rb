# frozen_string_literal: true

require "penstock"
require "securerandom"
require_relative "../sync_loop"

producer = Penstock::Producer.new do |config|
  config.kafka = Probe.kafka("transactional.id": "bench-#{SecureRandom.hex(6)}")
end
message = {topic: Probe["topic"], payload: "x" * 100}
batch = Probe["batch"]
SyncLoop.run { producer.transaction { |tx| batch.times { tx.produce_async(message) } } }
