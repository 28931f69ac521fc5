# frozen_string_literal: true

# The application that every consuming workload runs: only the body of the consumer and the settings differ.
require_relative "settings"
require_relative "../bodies"

class BenchConsumer < Penstock::BaseConsumer
  include Bodies[Probe["body"]]
end

class PenstockApp
  groups = Array.new(Probe["groups"] || 1) { |number| [Probe["group"], *(number if Probe["groups"])].join("-") }

  routes.draw do
    groups.each do |name|
      consumer_group(name) { Probe["topics"].each { |topic| topic(topic) { consumer BenchConsumer } } }
    end
  end
end

# A run with errors is no measurement; the harness shows the count.
Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
