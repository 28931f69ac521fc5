# frozen_string_literal: true

# A member of a group that is watched while brokers fail; default settings, and the log listener that Karafka's
# generated application has.
require "karafka"
require_relative "../journal"

class JournalConsumer < Karafka::BaseConsumer
  include Journal
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.initial_offset = "earliest"
  end

  routes.draw do
    topic(Probe["topic"]) { consumer JournalConsumer }
  end
end

Karafka.monitor.subscribe(Karafka::Instrumentation::LoggerListener.new)

Karafka::Server.run
