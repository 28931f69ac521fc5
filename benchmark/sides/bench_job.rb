# frozen_string_literal: true

# The job that all adapters enqueue and perform. Required after Active Job and the probe.
class BenchJob < ActiveJob::Base
  RECORDS = Probe["records"]
  WAIT_S = (Probe["wait_ms"] || 0) / 1000.0
  COUNTER = Mutex.new
  SLICE = 10_000
  PERFORMED = %w[performed executed_raw consumed].freeze
  queue_as { Probe["topic"] }

  class << self
    # Enqueues as many as the run has, 10,000 in a call.
    def enqueue_many
      RECORDS.times.each_slice(SLICE) { |numbers| ActiveJob.perform_all_later(numbers.map { |number| new(number) }) }
    end

    # In a process of its own: one that only performs jobs doesn't have the heap of one that has enqueued 10,000 at once.
    def enqueue_elsewhere
      _pid, status = ::Process.wait2(fork { enqueue_many.then { exit!(0) } })
      raise "jobs can't be enqueued: #{status}" unless status.success?
    end

    # The work of each job, counted.
    def work
      PROBE.first
      sleep(WAIT_S) if WAIT_S.positive?
      seen = COUNTER.synchronize { @seen = @seen.to_i + 1 }
      PROBE.finish({}, records: seen) if PERFORMED.include?(Probe["mode"]) && seen >= RECORDS
    end
  end

  def perform(_number) = self.class.work
end

# Ways of enqueueing that are the same with all adapters.
module Modes
  class << self
    def enqueued_many
      BenchJob.perform_later(0)
      PROBE.first
      BenchJob.enqueue_many
      PROBE.finish({}, records: BenchJob::RECORDS)
    end

    def enqueued_one
      require_relative "sync_loop"
      SyncLoop.run { BenchJob.perform_later(1) }
    end
  end
end
