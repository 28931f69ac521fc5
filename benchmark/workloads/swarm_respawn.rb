# frozen_string_literal: true

require_relative "../harness/large_application"
require_relative "../harness/swarm_run"
require_relative "../harness/workload"

module Bench
  # How long a node of a large application is missing: killed, until its successor's loops turn, and until its
  # partitions are consumed again; and the effect of a node that is replaced in order on the others.
  class SwarmRespawn < Workload
    NAME = "SWARM-RESPAWN"
    TITLE = "a node of the generated application is killed: until the next one runs, until its partitions are consumed again " \
            "(session 6 s); replaced by TERM: what runs twice, the longest gap on partitions of the other nodes"
    PARTITIONS = 6
    RATE = 300
    WAIT_MS = 2
    ROUNDS = 5
    # Longer than the effects of a kill.
    CALM_S = 5
    KAFKA = {"session.timeout.ms" => "6000", "auto.commit.interval.ms" => "500"}.freeze

    def columns = %w[ready_s consumed_s twice gap_ms calm_ms]

    def prepare = @application = LargeApplication.file

    def sides
      [false, true].flat_map do |mold|
        name = mold ? "mold" : "swarm"
        [side(name, mold: mold), side("#{name}, static members", mold: mold, static_membership: "bench")]
      end
    end

    def figures(results)
      results.each_key.flat_map do |side|
        [
          at_most("#{side.name}: killed, until the next runs", values(results, side.name, "ready_s"), 1, "s"),
          seen("#{side.name}: until its partitions are consumed", values(results, side.name, "consumed_s"), "s"),
          at_most("#{side.name}: replaced, what ran twice", values(results, side.name, "twice"), 0),
          at_most("#{side.name}: replaced, longest gap of others", values(results, side.name, "gap_ms"), 500, "ms")
        ]
      end
    end

    private

    def side(name, mold:, **settings)
      settings = {"concurrency" => 2, "kafka" => KAFKA, "swarm" => {"nodes" => 3, "mold" => mold},
                  **settings.transform_keys(&:to_s)}
      Side.new(name: name, kind: :ours, settings: settings, measure: -> { measure(settings) })
    end

    def measure(settings)
      topic = topics.create("bench-respawn-#{SecureRandom.hex(4)}", partitions: PARTITIONS)
      run = start(settings, topic)
      feed = SwarmRun.feed(broker, topic, rate: RATE, partitions: PARTITIONS)
      run.await("members that share the partitions") { owners(run).values.tally.values == [2, 2, 2] }
      kills = Array.new(rounds) { |round| kill(run, round % 3) }
      {"ready_s" => middle(kills, :ready), "consumed_s" => middle(kills, :consumed), **replaced(run)}
    ensure
      feed&.stop
      run&.stop
    end

    def start(settings, topic)
      SwarmRun.new({bootstrap: broker.bootstrap, group: group, topics: [topic], body: "large", application: @application,
        wait_ms: WAIT_MS, swarm: true, each: true, kills: true, settings: settings})
    end

    def rounds = options.quick ? 1 : ROUNDS

    def middle(kills, what) = Statistics.median(kills.map { |kill| kill[what] })

    # The node that processed each partition's last record, within the last second.
    # @return [Hash{String => Integer}]
    def owners(run)
      from = Bench.now_ns - 1_000_000_000
      run.entries("record").select { |entry| entry.at_ns > from }.to_h { |entry| [entry.rest.first, entry.pid] }
    end

    def kill(run, number)
      victim = run.node(number)
      held = owners(run).select { |_partition, pid| pid == victim }.keys
      at = Bench.now_ns
      ::Process.kill("KILL", victim)
      born = run.await("the next node", within: 60) { run.entries("running").find { |entry| successor?(entry, number, at) } }
      again = held.map { |partition| run.await("partition #{partition}") { first_since(run, partition, victim, at) } }
      settle(run)
      {ready: seconds(at, born.at_ns), consumed: seconds(at, again.map(&:at_ns).max || at)}
    end

    def successor?(entry, number, at) = entry.rest.first == number.to_s && entry.at_ns > at

    def first_since(run, partition, victim, at)
      run.entries("record").find { |entry| entry.rest.first == partition && entry.pid != victim && entry.at_ns > at }
    end

    def settle(run) = run.await("members again", within: 60) { owners(run).values.tally.values == [2, 2, 2] }

    # TERM to a node: another takes its place.
    def replaced(run)
      sleep CALM_S
      calm = longest_gap(run, Bench.now_ns - CALM_S * 1_000_000_000, owners(run).keys)
      leaver = run.node(0)
      others = owners(run).reject { |_partition, pid| pid == leaver }.keys
      at = Bench.now_ns
      ::Process.kill("TERM", leaver)
      run.await("the next node") { run.entries("running").find { |entry| successor?(entry, 0, at) } }
      settle(run)
      {"twice" => twice(run, at), "gap_ms" => longest_gap(run, at, others), "calm_ms" => calm}
    end

    # Records done since then that had been done at any time before.
    def twice(run, at)
      before, since = run.entries("record").partition { |entry| entry.at_ns <= at }
      ((before.map(&:rest).uniq & since.map(&:rest)) + since.map(&:rest).tally.select { |_rest, count| count > 1 }.keys).uniq.size
    end

    # ms
    def longest_gap(run, from, partitions)
      entries = run.entries("record").select { |entry| entry.at_ns > from && partitions.include?(entry.rest.first) }
      gaps = entries.group_by { |entry| entry.rest.first }.each_value.flat_map do |own|
        [from, *own.map(&:at_ns)].each_cons(2).map { |before, after| after - before }
      end
      ((gaps.max || 0) / 1e6).round(1)
    end

    def seconds(from_ns, to_ns) = ((to_ns - from_ns) / 1e9).round(3)
  end
end
