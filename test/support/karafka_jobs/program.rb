# frozen_string_literal: true

# An application of Karafka with jobs, set up as its documentation shows. Its plan comes in EXCHANGE_PLAN:
#
#   bootstrap, group, queue
#   action     "enqueue" all jobs and end; "perform" them until TERM
#   journal    see ExchangedJobs

require "json"
require "karafka"
require "active_job"
require "active_job/karafka"
ActiveJob::Base.extend(Karafka::ActiveJob::JobExtensions) # in Rails its Railtie does
require_relative "jobs"
require "karafka/active_job/current_attributes"

PLAN = JSON.parse(ENV.fetch("EXCHANGE_PLAN"), symbolize_names: true)
$stdout.sync = true
ExchangedJobs.setup("Karafka", PLAN.fetch(:journal))
ActiveJob::Base.queue_adapter = :karafka
Karafka::ActiveJob::CurrentAttributes.persist("ExchangedJobs::Current")

class KarafkaApp < Karafka::App
  setup do |config|
    config.client_id = "exchange"
    config.group_id = PLAN.fetch(:group)
    config.kafka = {"bootstrap.servers": PLAN.fetch(:bootstrap)}
    config.initial_offset = "earliest"
    config.logger = Logger.new($stdout)
  end

  routes.draw { active_job_topic PLAN.fetch(:queue) }
end

puts "Karafka #{Karafka::VERSION}, Active Job #{ActiveJob.version}"
if PLAN.fetch(:action) == "enqueue"
  ExchangedJobs.enqueue_all(PLAN.fetch(:queue))
  Karafka.producer.close
else
  Karafka.monitor.subscribe(Karafka::Instrumentation::LoggerListener.new)
  Karafka::Server.run
end
