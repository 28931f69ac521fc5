# frozen_string_literal: true

require_relative "../harness/large_application"
require_relative "../harness/swarm_run"
require_relative "../harness/workload"

module Bench
  # The memory of three processes of a large application, after a minute of work, as the kernel counts it: a page that
  # three share counts for a third in each. And the CPU use of the supervisor meanwhile.
  class SwarmMemory < Workload
    NAME = "SWARM-MEMORY"
    TITLE = "a generated application of 120 MB and more in three processes, after 60 s of load: memory (PSS of all), shared " \
            "part of a node, and what the supervisor does"
    LOAD_S = 60
    WAIT_MS = 4
    PARTITIONS = 6
    # Records per second, so that none wait: prefetched records would be counted too.
    RATE = 300

    def columns = %w[pss_mb rss_mb shared_pct records supervisor_rss_mb supervisor_cpu_pct supervisor_wakes_per_s]

    def prepare = @application = LargeApplication.file

    def sides
      [
        Side.new(name: "3 servers", kind: :ours, settings: {}, measure: -> { measure({}, 3) }),
        swarm("swarm of 3", {"nodes" => 3}), swarm("swarm of 3, mold", {"nodes" => 3, "mold" => true})
      ]
    end

    def figures(results)
      [
        at_least("memory of a server", values(results, "3 servers", "rss_mb"), 120, "MB"),
        at_most("swarm against servers", part(results, "swarm of 3"), 60, "%"),
        at_least("swarm, shared part of a node", values(results, "swarm of 3", "shared_pct"), 60, "%"),
        at_most("mold against servers", part(results, "swarm of 3, mold"), 50, "%"),
        at_least("mold, shared part of a node", values(results, "swarm of 3, mold", "shared_pct"), 75, "%"),
        *supervisor(results)
      ]
    end

    private

    def supervisor(results)
      ["swarm of 3", "swarm of 3, mold"].flat_map do |side|
        [
          at_most("#{side}: supervisor's CPU", values(results, side, "supervisor_cpu_pct"), 0.1, "%"),
          at_most("#{side}: supervisor's wake-ups a second", values(results, side, "supervisor_wakes_per_s"), 5)
        ]
      end
    end

    def part(results, side) = ratio(results, side, "3 servers", "pss_mb").map { |value| (value * 100).round(1) }

    def swarm(name, settings)
      Side.new(name: name, kind: :ours, settings: {"swarm" => settings}, measure: -> { measure({"swarm" => settings}, 1) })
    end

    def measure(settings, count)
      name = topics.create("bench-swarm-#{SecureRandom.hex(4)}", partitions: PARTITIONS)
      runs = start(settings, count, name)
      feed = SwarmRun.feed(broker, name, rate: RATE, partitions: PARTITIONS)
      runs.first.await("three that work") { runs.first.entries("batch").map(&:pid).uniq.size >= 3 }
      before = supervisor_of(runs.first)
      sleep(options.quick ? 6 : LOAD_S)
      {**memory(runs, settings), **(settings.empty? ? {} : worked(before, supervisor_of(runs.first))),
        "records" => runs.first.entries("batch").sum { |entry| entry.rest.first.to_i }}
    ensure
      feed&.stop
      runs&.each(&:stop)
      FileUtils.rm_f(@journal)
    end

    # All write to one journal.
    def start(settings, count, topic)
      @journal = SwarmRun.journal
      parameters = {bootstrap: broker.bootstrap, group: group, topics: [topic], body: "large", application: @application,
                    wait_ms: WAIT_MS, swarm: settings.any?, settings: {"concurrency" => 2, **settings}}
      Array.new(count) { SwarmRun.new(parameters, journal: @journal) }
    end

    # A node's, or a server's, median; the other processes of a swarm count in the sum.
    def memory(runs, settings)
      workers = runs.first.entries("running").map(&:pid).uniq
      each = workers.map { |pid| KernelFacts.memory(pid) }
      shared = Statistics.median(each.map { |one| 100 - (one[:own] * 100 / one[:rss]) })
      {"pss_mb" => runs.flat_map(&:pids).sum { |pid| KernelFacts.memory(pid)[:pss] }.round(1),
       "rss_mb" => Statistics.median(each.map { |one| one[:rss] }).round(1), "shared_pct" => shared.round(1),
       **(settings.empty? ? {} : {"supervisor_rss_mb" => KernelFacts.memory(runs.first.child.pid)[:rss].round(1)})}
    end

    def supervisor_of(run)
      {cpu: KernelFacts.cpu_seconds(run.child.pid), switches: KernelFacts.switches(run.child.pid), at: Bench.now_ns}
    end

    def worked(from, to)
      seconds = (to[:at] - from[:at]) / 1e9
      {"supervisor_cpu_pct" => ((to[:cpu] - from[:cpu]) * 100 / seconds).round(3),
       "supervisor_wakes_per_s" => ((to[:switches] - from[:switches]) / seconds).round(2)}
    end
  end
end
