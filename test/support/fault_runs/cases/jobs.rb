# frozen_string_literal: true

require_relative "../job_scene"
require_relative "members"

# Faults of jobs (Active Job), and of processes that perform them.
module Penstock
  module TestSupport
    module FaultRuns
      define "T39", "Active Job: missing classes, bad arguments, deleted records, jobs that kill; servers are killed; delays; " \
        "a broker is down",
        passes: "each done, retried or dead; no committed one again; ids unique; attributes apart; none early" do |t39|
        t39.run "all kinds, five kills", allowed: WITH_DEATHS, without: JobScene::WITHOUT do
          jobs = JobScene.new(self, work_ms: 3)
          begin_all(settle: 0)
          count = 10_000
          killers = {count / 5 => "kill:1", count / 2 => "kill", count * 4 / 5 => "kill:1"}
          enqueuer = jobs.enqueue(count: count, rate: 150, kinds: JobScene::KINDS, kinds_at: killers)
          5.times do |index|
            jobs.tend(180, "kill #{index + 1}") { jobs.done >= (index + random.rand(0.6..1.4)) * count / 7 }
            jobs.kill_server
          end
          jobs.tend(600, "all jobs") { !enqueuer.alive? && run.lagging.empty? }
          jobs.expect_all(count)
          finish
        end

        t39.run "delayed jobs, 1 s to 3 min", allowed: [*WITH_DEATHS, "commit failed"], without: JobScene::WITHOUT_DELAYED do
          jobs = JobScene.new(self, queue: {"message.timestamp.type" => "LogAppendTime"})
          begin_all(settle: 0)
          count = 2_000
          enqueuer = jobs.enqueue(count: count, rate: 200, delays: [1_000, 180_000])
          jobs.tend(120, "the end of the enqueueing") { !enqueuer.alive? }
          pass(random.rand(5.0..15.0))
          jobs.replace_server
          pass(random.rand(10.0..20.0))
          jobs.kill_server
          pass(random.rand(15.0..25.0))
          nemesis.bounce_broker(cluster.leader("#{jobs.application.group}.delay.3", 0), down: 8)
          pass(random.rand(10.0..20.0))
          down = cluster.nodes.keys.sample(2, random: random)
          down.each { |id| nemesis.kill_broker(id) }
          pass(12)
          down.each { |id| nemesis.start_broker(id) }
          jobs.tend(600, "all delayed jobs") { jobs.idle? }
          jobs.expect_all(count)
          finish
        end

        t39.test "process/active_job/faults"
        t39.test "ledger/rails_jobs"
      end
    end
  end
end
