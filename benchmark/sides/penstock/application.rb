# frozen_string_literal: true

# The application every consuming workload runs: what differs is the body of the consumer and the settings.
require "penstock"
require_relative "../bodies"

class BenchConsumer < Penstock::BaseConsumer
  include Bodies[Probe["body"]]
end

class PenstockApp < Penstock::App
  settings = Probe["settings"]

  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.concurrency = settings["concurrency"] if settings["concurrency"]
    config.max_messages = settings["max_messages"] if settings["max_messages"]
    config.initial_offset = "earliest"
  end

  routes.draw do
    Probe["topics"].each { |name| topic(name) { consumer BenchConsumer } }
  end
end

# A run with errors is no measurement; the harness shows the count.
Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
