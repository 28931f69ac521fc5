# frozen_string_literal: true

# The application of the kit's own suites: orders become invoices.

require "json"
require "logger"
require "penstock"

class OrdersConsumer < Penstock::BaseConsumer
  def consume
    each do |message|
      next pause(message.offset, 60_000) if message.payload["later"]
      next seek(:latest) if message.payload["skip"]
      next dispatch_to_dlq(message, reason: ArgumentError.new("no total")) unless message.payload["total"]

      produce_async(topic: "invoices", key: message.key, payload: {total: message.payload["total"]}.to_json)
      mark_as_consumed(message)
    end
  end
end

class KitApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = "kit"
    config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    config.logger = Logger.new(File::NULL)
  end

  routes.draw do
    topic :orders do
      consumer OrdersConsumer
      dead_letter_queue topic: "orders.dead"
    end
  end
end
