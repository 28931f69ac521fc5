# frozen_string_literal: true

# Jobs of Active Job: enqueued one by one or many at once, performed by a server, or both without Kafka. `mode` selects.
require_relative "../probe"
vendor = Dir[File.expand_path("../../../vendor/bundle/ruby/*", __dir__)].first
Gem.paths = {"GEM_HOME" => Gem.dir, "GEM_PATH" => [Gem.dir, *vendor].join(File::PATH_SEPARATOR)}
require "active_job"
require_relative "settings"
require "penstock/active_job"

ActiveJob::Base.logger = Logger.new(File::NULL, level: Logger::WARN)
ActiveJob::Base.queue_adapter = :penstock
require_relative "../bench_job"

# The other ways of enqueueing and performing.
module Modes
  class << self
    def serialized
      PROBE.first
      BenchJob::RECORDS.times { |number| JSON.generate(BenchJob.new(number).serialize) }
      PROBE.finish({}, records: BenchJob::RECORDS)
    end

    def performed
      BenchJob.enqueue_many
      PenstockApp.routes.draw { active_job_topic(Probe["topic"], dead: nil) }
      Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
      PenstockApp.run!
    end

    def executed
      payload = JSON.generate(BenchJob.new(1).serialize)
      BenchJob::RECORDS.times { ActiveJob::Base.execute(JSON.parse(payload)) }
      PROBE.finish({}, records: BenchJob::RECORDS)
    end
  end
end

Modes.public_send(Probe["mode"])
