# frozen_string_literal: true

# The driver alone: batches are taken on the main thread and read record by record, as user code does. No units, no ledger, no
# worker, no commits.
require_relative "../probe"
require "penstock"
require "penstock/native/consumer"
require "penstock/messages/messages"

UNIT = 100
properties = {
  "bootstrap.servers" => Probe["bootstrap"], "group.id" => Probe["group"], "auto.offset.reset" => "earliest",
  "enable.auto.commit" => "false", "enable.auto.offset.store" => "false", "fetch.queue.backoff.ms" => "20",
  "queued.min.messages" => "10000"
}
consumer = Penstock::Native::Consumer.new(properties)
consumer.subscribe(Probe["topics"])
lanes = {}
ready = []

rebalance = lambda do |kind, partitions, *|
  partitions.each { |topic, partition| (lane = consumer.lane(topic, partition)) && lanes[lane.id] = lane } if kind == :assign
  consumer.answer if %i[assign revoke].include?(kind)
end

read = lambda do |batch|
  PROBE.first
  (0...batch.size).step(UNIT) do |first|
    bytes = 0
    messages = Penstock::Messages.new(batch, first, [UNIT, batch.size - first].min)
    messages.each { |message| bytes += message.raw_payload.bytesize }
    PROBE.add(messages.size, bytes)
  end
end

loop do
  consumer.wait(ready.empty? ? 100 : 0)
  while (event = consumer.poll_event)
    rebalance.call(*event)
  end
  ready |= consumer.ready_lanes
  wanted = ready.filter_map { |id| lanes[id] }
  ready = []
  next if wanted.empty?

  batches = consumer.take(wanted.flat_map { |lane| [lane, 4 * UNIT, 1 << 20] })
  batches.zip(wanted) do |batch, lane|
    next unless batch
    ready << lane.id if batch.full?
    read.call(batch)
  end
end
