# frozen_string_literal: true

# The application that every consuming workload runs: only the body of the consumer and the settings differ.
require_relative "settings"
require_relative "../bodies"

class BenchConsumer < Penstock::BaseConsumer
  include Bodies[Probe["body"]]
end

class PenstockApp
  routes.draw do
    Probe["topics"].each { |name| topic(name) { consumer BenchConsumer } }
  end
end

# A run with errors is no measurement; the harness shows the count.
Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
