# frozen_string_literal: true

# Manual offsets: messages are gathered over several batches and written at once; only written messages are
# marked. If the process dies in between, the next one gets the rest again.
#
#     bundle exec ruby examples/manual_offsets.rb

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "penstock"
require "penstock/testing/cluster"

CLUSTER = Penstock::Testing::Cluster.start(topics: {"clicks" => 1})
at_exit { CLUSTER.stop }

class ClicksConsumer < Penstock::BaseConsumer
  AT_ONCE = 250

  def initialized
    @gathered = []
  end

  def consume
    @gathered.concat(messages.to_a)
    write(@gathered.shift(AT_ONCE)) while @gathered.size >= AT_ONCE
  end

  # The partition is revoked or the process stops: write the rest now, while marks still count.
  def shutdown
    write(@gathered) if @gathered.any?
  end

  private

  def write(clicks)
    puts "writing #{clicks.size} clicks, up to offset #{clicks.last.offset}"
    mark_as_consumed(clicks.last)
    PenstockApp.stop! if clicks.last.offset >= 999
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = "manual_offsets"
    config.kafka = CLUSTER.kafka
  end

  routes.draw do
    topic :clicks do
      consumer ClicksConsumer
      manual_offset_management true
    end
  end
end

Penstock.producer.produce_many_sync(Array.new(1_000) { |number| {topic: "clicks", payload: number.to_s} })

exit PenstockApp.run!
