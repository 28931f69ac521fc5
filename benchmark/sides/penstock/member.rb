# frozen_string_literal: true

# A member of a group that is watched while brokers fail; default settings, log lines as `penstock server` writes them.
require_relative "settings"
require_relative "../journal"

class JournalConsumer < Penstock::BaseConsumer
  include Journal
end

class PenstockApp
  routes.draw do
    topic(Probe["topic"]) { consumer JournalConsumer }
  end
end

Penstock.monitor.subscribe(Penstock::Instrumentation::LoggerListener.new)

exit PenstockApp.run!
