# frozen_string_literal: true

# A server that performs jobs, for tests that end it in any way. Its plan comes in PENSTOCK_PLAN: `kafka`, `group`, `topic`,
# `folder` (of journals), `settings` (more of config), `route` (more of the route).
#
# Each process writes a journal: one line for a job that begins, one for its end.

require "json"
require "logger"
require "penstock"
require "penstock/active_job"
require_relative "../../active_job_faults"

PLAN = JSON.parse(ENV.fetch("PENSTOCK_PLAN"), symbolize_names: true)
$stdout.sync = true
ActiveJob::Base.logger = Logger.new(nil)
ActiveJob::Base.queue_adapter = :penstock
Penstock::ActiveJob.current_attributes = [Penstock::TestSupport::ActiveJobFaults::Current]
Penstock::TestSupport::ActiveJobFaults.folder = PLAN.fetch(:folder)

class JobsApp < Penstock::App
  setup do |config|
    config.client_id = "jobs"
    config.group_id = PLAN.fetch(:group)
    config.kafka = PLAN.fetch(:kafka)
    config.shutdown_timeout = 10_000
    config.logger = Logger.new($stdout)
    config.pause.timeout = 50
    config.pause.max_timeout = 500
    PLAN.fetch(:settings, {}).each { |name, value| config.public_send(:"#{name}=", value) }
  end

  routes.draw do
    active_job_topic(PLAN.fetch(:topic), dead: "#{PLAN.fetch(:topic)}-dead") do
      PLAN.fetch(:route, {}).each { |verb, options|
        options.is_a?(Hash) ? public_send(verb, **options) : public_send(verb, *options)
      }
    end
  end
end

exit JobsApp.run! if $PROGRAM_NAME == __FILE__
