# frozen_string_literal: true

# A Karafka application as its documentation shows one; the body of the consumer comes from bodies.rb.
require "karafka"
require_relative "../bodies"

class BenchConsumer < Karafka::BaseConsumer
  include Bodies[Probe["body"]]
end

class KarafkaApp < Karafka::App
  settings = Probe["settings"]

  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.concurrency = settings["concurrency"] if settings["concurrency"]
    config.max_messages = settings["max_messages"] if settings["max_messages"]
    config.max_wait_time = settings["max_wait_time"] if settings["max_wait_time"]
    config.initial_offset = "earliest"
  end

  routes.draw do
    Probe["topics"].each { |name| topic(name) { consumer BenchConsumer } }
  end
end

# A run with errors is no measurement; the harness shows the count.
Karafka.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
