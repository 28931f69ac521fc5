# frozen_string_literal: true

# Examples of the testing kit, one after another: each builds a consumer, which gets a message and produces one.
require_relative "../probe"
require "json"
require "logger"
require "penstock"
require "penstock/testing/minitest"
require "penstock/testing/matchers/produced"

class OrdersConsumer < Penstock::BaseConsumer
  def consume
    each do |message|
      produce_async(topic: "invoices", key: message.key, payload: JSON.generate("total" => message.payload["total"]))
      mark_as_consumed(message)
    end
  end
end

class BenchApp < Penstock::App
  setup do |config|
    config.client_id = "bench"
    config.kafka = {"bootstrap.servers": Probe["bootstrap"]}
    config.logger = Logger.new(File::NULL)
  end
  routes.draw { Probe["topics"].times { |number| topic("orders#{number}") { consumer OrdersConsumer } } }
end

def example(number)
  kit = Penstock::Testing::Kit.new.open
  consumer = kit.consumer_for("orders#{number % Probe["topics"]}")
  kit.produce('{"total":12}', key: "42")
  consumer.consume
  invoice = Penstock::Testing::Matchers::Produced.new(kit, "invoices", key: "42", payload: {"total" => 12})
  invoice.matches?(kit) or raise invoice.failure_message
  kit.actions(consumer).marked_offset == 0 or raise "not marked"
ensure
  kit.close
end

PROBE.first
Probe["examples"].times { |number| example(number) }
PROBE.finish(records: Probe["examples"])
