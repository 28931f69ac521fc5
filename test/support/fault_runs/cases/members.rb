# frozen_string_literal: true

# Faults of members: they are killed, frozen, stopped, join and leave.
module Penstock
  module TestSupport
    module FaultRuns
      # Where members die or freeze.
      WITH_DEATHS = ["retry of its batch", "aborted transaction", "crash", "partition lost", "frozen process",
        "unit left running"].freeze
      # Where all members end in order.
      IN_ORDER = ["retry of its batch", "aborted transaction"].freeze
      PROTOCOL_NAMES = {cooperative: "cooperative", eager: "eager", consumer: "KIP-848"}.freeze

      define "T01", "nodes of a swarm are killed at random; processes are killed at named points",
        passes: "nothing lost, in order; respawn within 3 s; at most what was done since the last commit runs twice" do |t01|
        t01.run "swarm", allowed: WITH_DEATHS do
          swarm = consumers("swarm", members: 1, nodes: 3, short_session: true)
          begin_all
          rounds(5).times do
            pass(random.rand(4.0..7.0))
            nemesis.kill_process(swarm.members.first, any(swarm.members.first.nodes))
          end
          pass(12)
          finish
        end

        t01.run "servers in order, by key, with processes and fibers", allowed: WITH_DEATHS do
          apps = [consumers("whole", short_session: true, rate: 60),
            failing("key", mode: "key", short_session: true, rate: 60),
            consumers("processes", mode: "key", run_on: "processes", short_session: true, rate: 60, offsets: "marks"),
            consumers("fibers", mode: "message", run_on: "fibers", short_session: true, rate: 60)]
          begin_all
          rounds(6).times do |round|
            app = apps[round % apps.size]
            nemesis.kill_member(any(app.alive))
            app.start
            pass(random.rand(3.0..6.0))
          end
          pass(10)
          finish
        end

        t01.test "ledger/swarm", "T01", broker: :cluster
        t01.test "ledger/faults", broker: :cluster
      end

      define "T02", "a node is frozen for longer than its session, and resumes",
        passes: "its marks return false, no commit goes back, no side effect once it knows" do |t02|
        t02.run "frozen member", allowed: WITH_DEATHS do
          apps = PROTOCOL_NAMES.keys.map do |protocol|
            consumers(protocol.name, protocol: protocol, mode: "key", offsets: "marks", short_session: true, work_ms: 5, rate: 60)
          end
          begin_all
          rounds(2).times do
            frozen = apps.map { |app| any(app.alive) }.each { |member| nemesis.freeze_member(member) }
            pass(17)
            frozen.each { |member| nemesis.thaw_member(member) }
            pass(10)
          end
          finish
        end

        t02.test "ledger/swarm", "T02", broker: :cluster
      end

      define "T09", "TERM while batches run",
        passes: "exit code 0, nothing twice, the group is left at once" do |t09|
        t09.run "members are replaced in order", allowed: IN_ORDER do
          apps = [consumers("whole", work_ms: 2), failing("key", mode: "key"), copiers("copy"),
            consumers("eager", protocol: :eager), consumers("consumer", protocol: :consumer)]
          begin_all
          rounds(2).times do
            apps.each do |app|
              nemesis.stop_member(app.alive.first)
              app.start
              pass(3)
            end
          end
          expect_stall(15)
          finish
        end

        t09.test "ledger/swarm", "T09", broker: :cluster
        t09.test "broker/restarts", "TERM", broker: :cluster
      end

      define "T10", "TERM, twice, and with INT, at any time; while a coordinator is down",
        passes: "each ends in time, with the right exit code" do |t10|
        t10.run "stops while the coordinator is away", allowed: [*IN_ORDER, "commit failed", "forced stop"] do
          apps = [consumers("whole", rate: 60), consumers("consumer", protocol: :consumer, rate: 60), copiers("copy", rate: 60)]
          begin_all
          apps.each do |app|
            broker = coordinator(app)
            nemesis.kill_broker(broker)
            took = app.alive.first.stop
            run.measured[:"stop_of_#{app.name}_s"] = took.round(1)
            expect("i10_stop") { "#{app.name}: the stop took #{took.round(1)} s of 20" if took > 26 * Wait.busy }
            app.members.first.may_end("exit 2") # its last commit may have nowhere to go within its time
            nemesis.start_broker(broker)
            cluster.await_healthy
            app.start
            pass(5)
          end
          finish
        end

        t10.test "ledger/swarm", "T10", broker: :cluster
        t10.test "ledger/ends", "T10"
        t10.test "process/signals"
      end

      define "T16", "a member joins or leaves every 1 to 3 s",
        passes: "no key runs twice at once; at least a fifth of the calm rate; nothing twice when all leave in order" do |t16|
        PROTOCOL_NAMES.each do |protocol, name|
          t16.run "churn, #{name}", allowed: [*IN_ORDER, "unit left running"] do
            app = consumers("app", members: 3, mode: "key", offsets: "marks", protocol: protocol, work_ms: 2)
            begin_all
            rounds(16).times do
              (app.alive.size > 1 && random.rand(2).zero?) ? nemesis.stop_member(any(app.alive)) : app.start
              pass(random.rand(1.0..3.0))
            end
            expect_stall(20)
            finish
          end
        end

        t16.run "static members and a twin", allowed: [*WITH_DEATHS, "fenced"] do
          kafka = {"session.timeout.ms": 20_000, "heartbeat.interval.ms": 1_000}
          app = consumers("app", members: 0, mode: "key", offsets: "marks", kafka: kafka)
          places = Array.new(3) { |place| app.start(kafka: {"group.instance.id": "place-#{place}"}) }
          begin_all
          run.await_members(app, 3)
          rounds(3).times do |round|
            nemesis.kill_member(places[round % 3])
            places[round % 3] = app.start(kafka: {"group.instance.id": "place-#{round % 3}"})
            pass(6)
          end
          places.last.may_end("exit 1") # fenced by the one that takes its place
          nemesis.fault("twin", places.last.name) { app.start(kafka: {"group.instance.id": "place-2"}) }
          places.last.await_end(60)
          expect_stall(30)
          finish
        end
      end

      define "T17", "processing takes longer than max.poll.interval.ms",
        passes: "no rebalance at all, other partitions are processed" do |t17|
        t17.run "slow records", allowed: [] do
          kafka = {"max.poll.interval.ms": 10_000, "session.timeout.ms": 8_000, "heartbeat.interval.ms": 500}
          PROTOCOL_NAMES.each_key do |protocol|
            consumers(protocol.name, protocol: protocol, rate: 40, kinds: {"slow:25000" => 2}, concurrency: 6,
              kafka: (protocol == :consumer) ? kafka.slice(:"max.poll.interval.ms") : kafka)
          end
          begin_all
          pass(30)
          expect("t17_rebalance") do |checker|
            moved = checker.database.rows("SELECT application, COUNT(*) FROM rebalances JOIN processes ON id = process " \
              "WHERE rebalances.at BETWEEN ? AND ? GROUP BY application", run.settled_at, run.finishing_at)
            moved.map { |name, count| "#{name}: #{count} partitions moved" }.join("; ") if moved.any?
          end
          finish(drain: 150)
        end

        t17.test "broker/long_job", broker: :cluster
      end
    end
  end
end
