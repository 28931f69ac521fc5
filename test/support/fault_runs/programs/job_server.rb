# frozen_string_literal: true

# A server of a fault run that performs jobs and records what it does. Its plan comes in PENSTOCK_PLAN:
#
#   application, member    names; group, topic, dead, kafka
#   folder                 of journals
#   max_retries, concurrency, shutdown_timeout, work_ms
#
# job_enqueuer.rb has the same application and enqueues.

require "json"
require "logger"
require "penstock"
require_relative "../jobs"
require_relative "../journal"
require_relative "../listening"

$stdout.sync = true

module JobServer
  FaultRuns = Penstock::TestSupport::FaultRuns
  PLAN = JSON.parse(ENV.fetch("PENSTOCK_PLAN"), symbolize_names: true)
  JOURNAL = FaultRuns::Journal.new(PLAN.fetch(:folder), PLAN.fetch(:application), PLAN[:member])
  FaultRuns::Jobs.setup(JOURNAL, PLAN)

  class App < Penstock::App
    setup do |config|
      FaultRuns::Listening.configure(config, PLAN)
      config.pause.timeout = 100
      config.pause.max_timeout = 1_000
    end

    routes.draw do
      active_job_topic(PLAN.fetch(:topic), dead: PLAN.fetch(:dead), max_retries: PLAN.fetch(:max_retries, 2))
    end
  end

  def self.run
    FaultRuns::Listening.install(App.monitor, JOURNAL, App.logger)
    JOURNAL.write("started", nil)
    App.run!.tap { |code| JOURNAL.write("stopped", code) }
  end
end

exit JobServer.run if $PROGRAM_NAME == __FILE__
