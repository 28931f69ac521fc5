# frozen_string_literal: true

# The jobs of penstock/jobs.rb with Karafka's adapter, which waits for the broker here as ours does. `mode` selects.
require_relative "../probe"
require "karafka"
require "active_job"
require "active_job/karafka"
ActiveJob::Base.extend(Karafka::ActiveJob::JobExtensions) # in Rails its Railtie does

ActiveJob::Base.logger = Logger.new(File::NULL, level: Logger::WARN)
ActiveJob::Base.queue_adapter = :karafka
require_relative "../bench_job"
BenchJob.karafka_options(dispatch_method: :produce_sync, dispatch_many_method: :produce_many_sync)

class KarafkaApp < Karafka::App
  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.concurrency = Probe["settings"]["concurrency"]
    config.initial_offset = "earliest"
  end

  routes.draw { active_job_topic(Probe["topic"]) }
end
Karafka.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }

# The other ways of enqueueing and performing.
module Modes
  class << self
    def performed
      BenchJob.enqueue_elsewhere
      Karafka::Server.run
    end
  end
end

Modes.public_send(Probe["mode"])
