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
RECORDS = Probe["records"]

class BenchJob < ActiveJob::Base
  WAIT_S = (Probe["wait_ms"] || 0) / 1000.0
  COUNTER = Mutex.new
  queue_as { Probe["topic"] }

  class << self
    def counted = COUNTER.synchronize { @seen = @seen.to_i + 1 }
  end

  def perform(_number)
    PROBE.first
    sleep(WAIT_S) if WAIT_S.positive?
    seen = self.class.counted
    PROBE.finish({}, records: seen) if Probe["mode"] == "performed" && seen >= RECORDS
  end
end

# The ways of enqueueing and performing.
module Modes
  SLICE = 10_000

  class << self
    def enqueued_many
      BenchJob.perform_later(0)
      PROBE.first
      enqueue
      PROBE.finish({}, records: RECORDS)
    end

    def serialized
      PROBE.first
      RECORDS.times { |number| JSON.generate(BenchJob.new(number).serialize) }
      PROBE.finish({}, records: RECORDS)
    end

    def enqueued_one
      require_relative "../sync_loop"
      SyncLoop.run { BenchJob.perform_later(1) }
    end

    def performed
      enqueue
      PenstockApp.routes.draw { active_job_topic(Probe["topic"], dead: nil) }
      Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
      PenstockApp.run!
    end

    def executed
      payload = JSON.generate(BenchJob.new(1).serialize)
      RECORDS.times { ActiveJob::Base.execute(JSON.parse(payload)) }
      PROBE.finish({}, records: RECORDS)
    end

    private

    def enqueue
      RECORDS.times.each_slice(SLICE) { |numbers| ActiveJob.perform_all_later(numbers.map { |number| BenchJob.new(number) }) }
    end
  end
end

Modes.public_send(Probe["mode"])
