# frozen_string_literal: true

require_relative "../harness/swarm_run"
require_relative "../harness/workload"

module Bench
  # Handlers that only compute: the gain of a second process on a second core. The broker computes on the same two; its
  # CPU time is reported with each side.
  class SwarmCpu < Workload
    NAME = "SWARM-CPU"
    TITLE = "handlers that compute 1 ms, or 0.1 ms, a record: a swarm of one node, and of two"
    TOPIC = "bench-swarm-cpu"
    PARTITIONS = 4
    RECORDS = 1_000_000
    SETTLE_S = 3
    WINDOW_S = 15
    TARGETS = {1_000 => 1.8, 100 => 1.6}.freeze

    def columns = %w[rate nodes_cpu_s broker_cpu_s]

    def prepare = topics.fill_evenly(TOPIC, partitions: PARTITIONS, records: RECORDS)

    def sides = TARGETS.keys.product([1, 2]).map { |micros, nodes| side(micros, nodes) }

    def figures(results)
      TARGETS.flat_map do |micros, target|
        [
          at_least("#{title_of(micros)}: 2 nodes against 1", ratio(results, name_of(micros, 2), name_of(micros, 1)), target, "×"),
          seen("#{title_of(micros)}: broker's CPU with 2 nodes", values(results, name_of(micros, 2), "broker_cpu_s"), "s")
        ]
      end
    end

    private

    def title_of(micros) = "#{(micros / 1_000.0).to_s.delete_suffix(".0")} ms"

    def name_of(micros, nodes) = "#{title_of(micros)}, #{nodes} node#{"s" if nodes > 1}"

    def side(micros, nodes)
      settings = {"concurrency" => 1, "swarm" => {"nodes" => nodes}}
      Side.new(name: name_of(micros, nodes), kind: :ours, settings: settings, measure: -> { measure(micros, nodes, settings) })
    end

    # Records done in a period in which all nodes work.
    def measure(micros, nodes, settings)
      run = SwarmRun.new({bootstrap: broker.bootstrap, group: group, topics: [TOPIC], body: "compute", busy_us: micros,
        swarm: true, settings: settings})
      run.await("all nodes at work") { run.entries("batch").map(&:pid).uniq.size >= nodes }
      sleep SETTLE_S
      window(run)
    ensure
      run&.stop
    end

    def window(run)
      pids = KernelFacts.below(run.child.pid)
      from, cpu = Bench.now_ns, cpu_of(pids)
      sleep(options.quick ? 3 : WINDOW_S)
      to, used = Bench.now_ns, cpu_of(pids) - cpu
      done = run.entries("batch").select { |entry| entry.at_ns.between?(from, to) }.sum { |entry| entry.rest.first.to_i }
      {"rate" => (done * 1e9 / (to - from)).round, "nodes_cpu_s" => used.round(2), "records" => done}
    end

    def cpu_of(pids) = pids.sum { |pid| KernelFacts.cpu_seconds(pid) }
  end
end
