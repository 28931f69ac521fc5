# frozen_string_literal: true

# Everything in one file: an in-memory broker, ten messages produced, consumed, committed.
#
#     bundle exec ruby examples/quickstart.rb

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "penstock"
require "penstock/testing/cluster"

CLUSTER = Penstock::Testing::Cluster.start(topics: {"greetings" => 2})
at_exit { CLUSTER.stop }

class GreetingsConsumer < Penstock::BaseConsumer
  SEEN = Queue.new

  def consume
    messages.each do |message|
      puts "#{message.topic}/#{message.partition} at #{message.offset}: #{message.payload["hello"]}"
      SEEN << message
    end
    PenstockApp.stop! if SEEN.size == 10
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = "quickstart"
    config.kafka = CLUSTER.kafka
  end

  routes.draw do
    topic(:greetings) { consumer GreetingsConsumer }
  end
end

reports = Penstock.producer.produce_many_sync(
  (1..10).map { |number| {topic: "greetings", key: "k#{number}", payload: %({"hello": "number #{number}"})} }
)
puts "produced #{reports.size} messages"

exit PenstockApp.run!
