# frozen_string_literal: true

# The jobs of penstock/jobs.rb with Sidekiq, started as its command starts it, and the adapter that Active Job contains.
# Without Rails, as Karafka's side: Rails would add its executor to each job.
require_relative "../probe"
ENV["REDIS_URL"] = Probe["redis"]
require "active_job"

ActiveJob::Base.logger = Logger.new(File::NULL, level: Logger::WARN)
ActiveJob::Base.queue_adapter = :sidekiq # loads Sidekiq, too
require_relative "../bench_job"
require "sidekiq/cli"

Sidekiq.configure_server do |config|
  config.logger.level = Logger::WARN
  config.error_handlers << ->(error, *) { PROBE.error(error) }
end

BenchJob.enqueue_elsewhere
Sidekiq::CLI.instance.tap do |cli|
  job = File.expand_path("../bench_job.rb", __dir__)
  cli.parse(["-e", "production", "-c", Probe["settings"]["concurrency"].to_s, "-q", Probe["topic"], "-r", job])
  cli.run
end
