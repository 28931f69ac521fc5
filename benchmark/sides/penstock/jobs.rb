# frozen_string_literal: true

# Jobs of Active Job: enqueued one by one or many at once, performed by a server; or what of it Active Job and the driver do
# without Penstock's adapter. `mode` selects.
vendor = Dir[File.expand_path("../../../vendor/bundle/ruby/*", __dir__)].first
Gem.paths = {"GEM_HOME" => Gem.dir, "GEM_PATH" => [Gem.dir, *vendor].join(File::PATH_SEPARATOR)}
gem "json", ">= 2.10" # which the gem requires
require_relative "../probe"
require "active_job"
require_relative "settings"
require "penstock/active_job"

ActiveJob::Base.logger = Logger.new(File::NULL, level: Logger::WARN)
ActiveJob::Base.queue_adapter = :penstock
require_relative "../bench_job"

# Sends jobs with the driver alone: no checks, no events, no handles, and jobs learn nothing about their records.
class DriverAdapter
  def initialize
    @client = Penstock::Native::Producer.new({"bootstrap.servers" => Probe["bootstrap"], "linger.ms" => "5"})
    @client.open_topic(Probe["topic"])
  end

  def enqueue(job) = enqueue_all([job])
  def enqueue_at(job, _timestamp) = enqueue(job)

  def enqueue_all(jobs)
    messages = jobs.map { |job| {topic: job.queue_name, payload: JSON.generate(job.serialize)} }
    accepted = []
    until accepted.size == messages.size
      number = @client.dispatch_slice(messages, accepted.size, false, accepted)
      raise "the driver refused a message: #{number}" unless number.zero?
    end
    @client.flush(60_000)
    jobs.each { |job| job.successfully_enqueued = true }
    jobs.size
  end
end

# Serializes jobs, and sends them nowhere: what remains of `perform_all_later` is Active Job's own work.
class SerializingAdapter
  def enqueue(job) = enqueue_all([job])
  def enqueue_at(job, _timestamp) = enqueue(job)

  def enqueue_all(jobs)
    jobs.each do |job|
      JSON.generate(job.serialize)
      job.successfully_enqueued = true
    end
    jobs.size
  end
end

# The other ways of enqueueing and performing.
module Modes
  class << self
    def sent_many
      require "penstock/native/producer"
      ActiveJob::Base.queue_adapter = DriverAdapter.new
      enqueued_many
    end

    def serialized_many
      ActiveJob::Base.queue_adapter = SerializingAdapter.new
      enqueued_many
    end

    def serialized
      PROBE.first
      BenchJob::RECORDS.times { |number| JSON.generate(BenchJob.new(number).serialize) }
      PROBE.finish({}, records: BenchJob::RECORDS)
    end

    def performed
      BenchJob.enqueue_elsewhere
      PenstockApp.routes.draw { active_job_topic(Probe["topic"], dead: nil) }
      Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
      PenstockApp.run!
    end

    # The records of jobs, one for each call of `consume`, without Active Job.
    def consumed
      BenchJob.enqueue_elsewhere
      consumer = Class.new(Penstock::BaseConsumer) { define_method(:consume) { messages.each { BenchJob.work } } }
      PenstockApp.routes.draw do
        topic(Probe["topic"]) do
          consumer consumer
          parallel by: :message
          max_messages 1
        end
      end
      PenstockApp.run!
    end

    # The driver and Active Job, on one thread.
    def executed_raw
      require_relative "raw_batches"
      BenchJob.enqueue_elsewhere
      RawBatches.new([Probe["topic"]], 400).each do |batch|
        Penstock::Messages.new(batch).each { |message| ActiveJob::Base.execute(JSON.parse(message.raw_text)) }
      end
    end

    # As many threads as workers, a queue of jobs, and nothing else.
    def executed_in_threads
      jobs = Queue.new
      BenchJob::RECORDS.times { |number| jobs << JSON.generate(BenchJob.new(number).serialize) }
      jobs.close
      threads = Array.new(Probe["settings"]["concurrency"]) do
        Thread.new do
          while (payload = jobs.pop)
            ActiveJob::Base.execute(JSON.parse(payload))
          end
        end
      end
      threads.each(&:join)
      PROBE.finish({}, records: BenchJob::RECORDS)
    end

    def executed
      payload = JSON.generate(BenchJob.new(1).serialize)
      BenchJob::RECORDS.times { ActiveJob::Base.execute(JSON.parse(payload)) }
      PROBE.finish({}, records: BenchJob::RECORDS)
    end
  end
end

Modes.public_send(Probe["mode"])
