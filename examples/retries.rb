# frozen_string_literal: true

# When `consume` raises: after a growing pause the unmarked messages run again, one by one, in order, so that the
# one that fails delays only those after it in its partition. Other partitions continue.
#
#     bundle exec ruby examples/retries.rb

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "json"
require "logger"
require "penstock"
require "penstock/testing/cluster"

CLUSTER = Penstock::Testing::Cluster.start(topics: {"payments" => 1})
at_exit { CLUSTER.stop }

class PaymentsConsumer < Penstock::BaseConsumer
  def consume
    messages.each do |message|
      if message.payload["amount"] > 100 && attempt < 3
        puts "attempt #{attempt} of #{message.offset}: the bank is closed"
        raise "the bank is closed"
      end
      puts "attempt #{attempt} of #{message.offset}: paid #{message.payload["amount"]}"
      mark_as_consumed(message) # so it isn't paid again when a later one fails
      PenstockApp.stop! if message.payload["last"]
    end
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = "retries"
    config.kafka = CLUSTER.kafka
    config.logger = Logger.new(nil)
    config.pause.timeout = 200
    config.pause.max_timeout = 1_000
  end

  routes.draw do
    topic(:payments) { consumer PaymentsConsumer }
  end
end

amounts = [10, 20, 500, 30]
Penstock.producer.produce_many_sync(amounts.each_with_index.map do |amount, index|
  {topic: "payments", payload: JSON.generate(amount: amount, last: index == amounts.size - 1)}
end)

exit PenstockApp.run!
