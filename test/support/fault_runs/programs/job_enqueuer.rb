# frozen_string_literal: true

# Enqueues jobs of a fault run, and records for each what it intended and what became of it. In addition to the plan of
# job_server.rb:
#
#   count, rate            of jobs in all, and in a second
#   kinds                  {"poison" => 50}: shares of a thousand; the others are "ok"
#   kinds_at               {"100": "kill"}: of single numbers
#   delays                 [shortest, longest] in ms: all jobs are due later
#   seed

require_relative "job_server"

module JobEnqueuer
  PLAN = JobServer::PLAN
  JOURNAL = JobServer::JOURNAL
  Jobs = Penstock::TestSupport::FaultRuns::Jobs
  Journal = Penstock::TestSupport::FaultRuns::Journal
  RANDOM = Random.new(PLAN.fetch(:seed))
  MOST_AT_ONCE = 50

  module_function

  def run
    numbers = (1..PLAN.fetch(:count)).to_a
    began = Journal.now
    until numbers.empty?
      jobs = numbers.shift(RANDOM.rand(1..MOST_AT_ONCE)).map { |number| intended(number) }
      enqueue(jobs)
      jobs.each { |job| note(job) }
      ahead = (PLAN.fetch(:count) - numbers.size) / PLAN.fetch(:rate).to_f - (Journal.now - began) / 1e6
      sleep(ahead) if ahead.positive?
    end
    JobServer::App.producer.close
    JOURNAL.write("stopped", 0)
  end

  def intended(number)
    kind = kind_of(number)
    Jobs.make(number, kind, PLAN.fetch(:topic)).tap do |job|
      JOURNAL.write("intent", job.job_id, PLAN.fetch(:topic), nil, number, kind)
    end
  end

  def enqueue(jobs)
    jobs.one? ? jobs.first.enqueue : ActiveJob.perform_all_later(jobs)
  rescue Penstock::ProduceError => error
    JOURNAL.write("error", "enqueue", error.class, error.message[0, 200])
  end

  def note(job)
    return JOURNAL.write("unknown", job.job_id, job.enqueue_error&.class) unless job.provider_job_id
    JOURNAL.write("ack", job.job_id, *job.provider_job_id.split("/").last(2))
  end

  def kind_of(number)
    return "due:#{now_ms + RANDOM.rand(Range.new(*PLAN[:delays]))}" if PLAN[:delays]
    given = PLAN.fetch(:kinds_at, {})[:"#{number}"] and return given
    drawn = RANDOM.rand(1_000)
    PLAN.fetch(:kinds, {}).find { |_kind, share| (drawn -= share).negative? }&.first&.name || "ok"
  end

  def now_ms = ::Process.clock_gettime(::Process::CLOCK_REALTIME, :millisecond)
end

JobEnqueuer.run
