# frozen_string_literal: true

# The application of every side that consumes, with the settings of the workload; the file that requires this one draws
# the routes.
# requires this.
require_relative "../probe"
require "penstock"

class PenstockApp < Penstock::App
  settings = Probe["settings"]

  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.initial_offset = "earliest"
    %w[concurrency window_records max_messages static_membership metrics lock_metrics].each do |name|
      config.public_send(:"#{name}=", settings[name]) if settings[name]
    end
    (settings["swarm"] || {}).each { |name, value| config.swarm.public_send(:"#{name}=", value) }
  end
end
