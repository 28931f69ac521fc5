# frozen_string_literal: true

# Examples of the testing kit: each produces ten records and runs the application over them. By the thread's own clock: everything
# happens on it.
require_relative "../probe"
require "logger"
require "penstock"
require "penstock/testing/kit"

class OrdersConsumer < Penstock::BaseConsumer
  def consume = each(&:payload)
  def tick = nil
end

class BenchApp < Penstock::App
  setup do |config|
    config.kafka = {"bootstrap.servers": "nowhere:9092"}
    config.client_id = config.group_id = "bench"
    config.logger = Logger.new(nil)
  end
  routes.draw do
    topic(:orders) do
      consumer OrdersConsumer
      periodic interval: 60_000
    end
  end
end

def in_example
  kit = Penstock::Testing::Kit.new.open
  yield kit
ensure
  kit&.close
end

def consume_ten
  in_example do |kit|
    10.times { |number| kit.produce({number: number}.to_json, topic: :orders) }
    raise "not all" unless kit.consume_all.consumed.size == 10
  end
end

clock = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) }
10.times { consume_ten } # loads the code
PROBE.first
began = clock.call
Probe["examples"].times { consume_ten }
examples_s = clock.call - began
travel_s = nil
in_example do |kit|
  kit.consume_all
  began = clock.call
  kit.travel(86_400)
  travel_s = clock.call - began
end
PROBE.finish({consume_all_ms: (examples_s * 1_000 / Probe["examples"]).round(2), travel_ms: (travel_s * 1_000).round(1)},
  records: Probe["examples"] * 10)
