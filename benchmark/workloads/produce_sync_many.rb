# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # Many callers wait for their reports at the same time, which arrive one at a time: the latency that waiting adds.
  module WaitingMany
    RESTED = "C, 1 ms rest"

    def columns = %w[p50_ms p99_ms rate cpu_s objects]

    def prepare
      topics.create(topic)
    end

    private

    def many(name, model, waiting, think_ms, records)
      ruby(name, :ours, "penstock/sync_many.rb", {"kafka" => {"linger.ms" => "0"}, "waiting" => waiting}, topic: topic,
        model: model, waiting: waiting, think_ms: think_ms, records: scaled(records))
    end

    def bare
      c("C linger 0", "sync", {"acks" => "all", "linger.ms" => "0"}, topic: topic, records: scaled(3_000))
    end

    # As often as many callers together: a process that isn't busy all the time takes longer to be woken, the broker
    # too.
    def rested
      c(RESTED, "sync", {"acks" => "all", "linger.ms" => "0"}, topic: topic, records: scaled(3_000), rest_us: 1_000)
    end

    # Microseconds between ours and a C loop's, pair by pair.
    def added(results, name, loop = "C linger 0")
      Statistics.differences(values(results, name, "p50_ms"), values(results, loop, "p50_ms"))
        .map { |milliseconds| (milliseconds * 1_000).round(1) }
    end
  end

  # Threads, and one of them next to a flood of asynchronous messages.
  class SyncThreads < Workload
    include WaitingMany

    NAME = "PRODUCE-SYNC-THREADS"
    TITLE = "produce_sync of 50 threads that rest between, 100 B, acks=all; one next to a flood"

    def columns = %w[p50_ms p99_ms rate flood_rate cpu_s objects]

    def sides
      [many("Penstock 50 threads", :threads, 50, 50, 20_000), bare, rested,
        many("Penstock next to a flood", :flood, 1, 0, 2_000)]
    end

    def figures(results)
      [
        at_most("p50 added to C with 50 threads waiting", added(results, "Penstock 50 threads"), 200, "µs"),
        seen("p50 added to C that rests between", added(results, "Penstock 50 threads", RESTED), "µs"),
        seen("synchronous messages a second next to a flood", values(results, "Penstock next to a flood", "rate"), "/s"),
        seen("the flood's messages a second", values(results, "Penstock next to a flood", "flood_rate"), "/s")
      ]
    end

    private

    def topic = "bench-sync-threads"
  end

  # Fibers of the gem async, all in one thread.
  class SyncFibers < Workload
    include WaitingMany

    NAME = "PRODUCE-SYNC-FIBERS"
    TITLE = "produce_sync of 5,000 fibers that rest between, 100 B, acks=all"

    def sides
      [many("Penstock 5,000 fibers", :fibers, 5_000, 5_000, 20_000), bare, rested]
    end

    def figures(results)
      [
        at_most("p50 added to C with 5,000 fibers waiting", added(results, "Penstock 5,000 fibers"), 200, "µs"),
        seen("p50 added to C that rests between", added(results, "Penstock 5,000 fibers", RESTED), "µs"),
        seen("p99 with 5,000 fibers waiting", values(results, "Penstock 5,000 fibers", "p99_ms"), "ms")
      ]
    end

    private

    def topic = "bench-sync-fibers"
  end
end
