# frozen_string_literal: true

require_relative "../harness/redis_server"
require_relative "../harness/workload"

module Bench
  # Background jobs of Active Job, against loops of what Active Job itself needs for them, and against three other adapters.
  class Jobs < Workload
    NAME = "JOBS"
    TITLE = "Active Job: jobs enqueued and performed in one process; bare: Active Job's own work without Kafka"
    ENQUEUED = 100_000
    PERFORMED = 50_000
    WAITING = 30_000
    ONE_BY_ONE = 3_000
    # Each is several transactions of SQLite.
    SOLID_QUEUE = 2_000
    WAIT_MS = 1
    THREADS = 10
    # Solid Queue's supervisor ends its processes.
    GRACE_S = 20

    def columns = %w[rate p50_ms p99_ms cpu_s rss_mb objects]

    def prepare = [enqueue_topic, raw_topic, *topics_of_jobs, *topics_of_peers].each { |name| topics.create(name) }

    def sides
      [
        jobs("perform_all_later", "enqueued_many", enqueue_topic, ENQUEUED),
        jobs("bare serialize and JSON", "serialized", enqueue_topic, ENQUEUED, :bound),
        jobs("perform_all_later, sent nowhere", "serialized_many", enqueue_topic, ENQUEUED, :bound),
        jobs("Active Job and the driver", "sent_many", enqueue_topic, ENQUEUED, :bound),
        jobs("perform_later", "enqueued_one", enqueue_topic, ONE_BY_ONE, warm: 200),
        jobs("no-op jobs", "performed", topics_of_jobs.first, PERFORMED),
        jobs("records without Active Job", "consumed", topics_of_jobs[1], PERFORMED, :bound),
        jobs("bare execute", "executed", enqueue_topic, PERFORMED, :bound),
        jobs("the driver and bare execute", "executed_raw", raw_topic, PERFORMED, :bound),
        jobs("1 ms jobs", "performed", topics_of_jobs.last, WAITING, wait_ms: WAIT_MS),
        jobs("bare execute, 1 ms, in threads", "executed_in_threads", enqueue_topic, WAITING, :bound, wait_ms: WAIT_MS),
        *peers
      ]
    end

    def figures(results)
      [
        at_least("perform_all_later", values(results, "perform_all_later", "rate"), 40_000, "/s"),
        at_least("share of bare serialize and JSON", ratio(results, "perform_all_later", "bare serialize and JSON"), 0.7, "×"),
        at_most("perform_later, p50", values(results, "perform_later", "p50_ms"), 0.5, "ms"),
        at_least("no-op jobs performed", values(results, "no-op jobs", "rate"), 12_000, "/s"),
        at_least("share of bare execute", ratio(results, "no-op jobs", "bare execute"), 0.65, "×"),
        seen("share of perform_all_later, sent nowhere",
          ratio(results, "perform_all_later", "perform_all_later, sent nowhere"), "×"),
        seen("driver alone: share of bare serialize and JSON",
          ratio(results, "Active Job and the driver", "bare serialize and JSON"), "×"),
        seen("a record per call and bare execute, one after another: share of bare execute", in_a_row(results), "×"),
        seen("driver alone: share of bare execute", ratio(results, "the driver and bare execute", "bare execute"), "×"),
        at_least("1 ms jobs, 10 threads, one partition", values(results, "1 ms jobs", "rate"), 6_000, "/s"),
        seen("1 ms jobs: share of bare execute in threads", ratio(results, "1 ms jobs", "bare execute, 1 ms, in threads"), "×"),
        at_least("1 ms jobs against Karafka's adapter", ratio(results, "1 ms jobs", "Karafka 1 ms jobs"), 5, "×"),
        seen("no-op jobs against Karafka's adapter", ratio(results, "no-op jobs", "Karafka no-op jobs"), "×"),
        seen("perform_all_later against Karafka's adapter", ratio(results, "perform_all_later", "Karafka perform_all_later"),
          "×"),
        *against_databases(results)
      ]
    end

    private

    # The share of the bare loop's rate that remains when each of its jobs takes a call of `consume` in addition.
    def in_a_row(results)
      ratio(results, "records without Active Job", "bare execute").map { |share| share / (share + 1) }
    end

    # The adapters that keep jobs in Redis and in SQLite.
    def against_databases(results)
      [
        at_least("1 ms jobs against Sidekiq", ratio(results, "1 ms jobs", "Sidekiq 1 ms jobs"), 1.2, "×"),
        seen("no-op jobs against Sidekiq", ratio(results, "no-op jobs", "Sidekiq no-op jobs"), "×"),
        at_least("1 ms jobs against Solid Queue", ratio(results, "1 ms jobs", "Solid Queue 1 ms jobs"), 10, "×"),
        seen("no-op jobs against Solid Queue", ratio(results, "no-op jobs", "Solid Queue no-op jobs"), "×")
      ]
    end

    def peers
      [
        jobs("Karafka perform_all_later", "enqueued_many", enqueue_topic, ENQUEUED, :peer),
        jobs("Karafka perform_later", "enqueued_one", enqueue_topic, ONE_BY_ONE, :peer, warm: 200),
        jobs("Karafka no-op jobs", "performed", topics_of_peers.first, PERFORMED, :peer),
        jobs("Karafka 1 ms jobs", "performed", topics_of_peers.last, WAITING, :peer, wait_ms: WAIT_MS),
        sidekiq("Sidekiq no-op jobs", PERFORMED),
        sidekiq("Sidekiq 1 ms jobs", WAITING, wait_ms: WAIT_MS),
        solid_queue("Solid Queue no-op jobs", SOLID_QUEUE),
        solid_queue("Solid Queue 1 ms jobs", SOLID_QUEUE, wait_ms: WAIT_MS)
      ]
    end

    # Each run has an empty Redis of its own.
    def sidekiq(name, count, **parameters)
      performed(name, "sidekiq/jobs.rb", count) do |program, common|
        RedisServer.open { |url| RubySide.run(program, {redis: url, **common, **parameters}) }
      end
    end

    # Each run has a database of its own.
    def solid_queue(name, count, **parameters)
      performed(name, "solid_queue/jobs.rb", count) do |program, common|
        RubySide.in_folder("solid-queue") do |folder|
          RubySide.run(program, {folder: folder, **common, **parameters}, grace: GRACE_S)
        end
      end
    end

    def performed(name, program, count)
      settings = {"concurrency" => THREADS}
      common = {settings: settings, mode: "performed", topic: "bench-jobs", records: scaled(count)}
      Side.new(name: name, kind: :peer, settings: settings, measure: -> { rated(yield(program, common)) })
    end

    def jobs(name, mode, topic, count, kind = :ours, **parameters)
      program = (kind == :peer) ? "karafka/jobs.rb" : "penstock/jobs.rb"
      ruby(name, kind, program, {"concurrency" => THREADS}, mode: mode, topic: topic, records: scaled(count), **parameters)
    end

    def enqueue_topic = "bench-jobs-enqueued"

    # One partition each.
    def topics_of_jobs = %w[bench-jobs-noop bench-jobs-consumed bench-jobs-waiting]

    def raw_topic = "bench-jobs-raw"

    # A side reads its topic from the beginning, so each has one of its own.
    def topics_of_peers = %w[bench-jobs-noop-karafka bench-jobs-waiting-karafka]
  end
end
