# frozen_string_literal: true

# Faults of brokers: they are killed, frozen, restarted, cut off; leaders and coordinators move.
module Penstock
  module TestSupport
    module FaultRuns
      # Duplicates that a broker's death may cause: the last commits went to a coordinator that is gone, or the group
      # was lost.
      WITH_BROKERS = ["retry of its batch", "aborted transaction", "partition lost", "commit failed"].freeze

      define "T12", "leaders are killed; brokers are restarted in turn",
        passes: "nothing lost, in order; no partition stalls for more than 30 s; rolling restart: nothing twice" do |t12|
        t12.run "leaders killed", allowed: WITH_BROKERS do
          whole = consumers("whole")
          consumers("key", mode: "key", offsets: "marks")
          begin_all
          rounds(4).times do
            broker = cluster.leader(whole.topic, random.rand(6))
            nemesis.bounce_broker(broker, down: random.rand(2..8))
            pass(5)
          end
          expect_stall(30)
          finish
        end

        t12.run "rolling restart", allowed: ["retry of its batch"] do
          consumers("whole")
          failing("key", mode: "key")
          copiers("copy")
          begin_all(joined: true)
          cluster.nodes.each_key { |id| nemesis.restart_broker(id, down: 3) && pass(6) }
          expect_stall(5)
          finish
        end
      end

      define "T13", "a broker is frozen for 30 s",
        passes: "consumption resumes; a stop meanwhile ends in time" do |t13|
        t13.run "frozen broker", allowed: [*WITH_BROKERS, "forced stop"] do
          whole = consumers("whole", members: 3)
          copiers("copy")
          begin_all
          broker = coordinator(whole)
          nemesis.freeze_broker(broker)
          pass(4)
          whole.members.first.may_end("exit 2") # its last commit waits for the frozen broker: docs/reliability.md
          seconds = whole.members.first.stop
          run.measured[:stop_while_frozen_s] = seconds.round(1)
          expect("i10_stop") { "the stop took #{seconds.round(1)} s" if seconds > 25 * Wait.busy }
          pass(26)
          nemesis.thaw_broker(broker)
          pass(8)
          expect_stall(35)
          finish
        end
      end

      define "T14", "two of three brokers are down",
        passes: "nothing is acknowledged falsely; waiting members use no CPU; consumption resumes afterwards" do |t14|
        t14.run "two down", allowed: WITH_BROKERS do
          whole = consumers("whole", rate: 60)
          begin_all
          gone = cluster.nodes.keys.sample(2, random: random)
          gone.each { |id| nemesis.kill_broker(id) }
          pass(12)
          pids = whole.alive.map(&:pid)
          before = pids.sum { |pid| run.cpu(pid) }
          pass(10)
          share = (pids.sum { |pid| run.cpu(pid) } - before) / 10 / pids.size
          run.measured[:cpu_share_while_down] = share.round(3)
          expect("i9_busy_while_down") { "members take #{share.round(2)} of a core each" if share > 0.2 }
          gone.each { |id| nemesis.start_broker(id) }
          finish
        end
      end

      define "T15", "leaders and coordinators move; the coordinator dies, a member leaves, the broker returns, another restarts",
        passes: "nothing lost; commits are repeated or reported; partitions that move resume soon" do |t15|
        {"in order" => ->(scene) { scene.consumers("app", members: 3) },
         "by key" => ->(scene) { scene.failing("app", members: 3, mode: "key") },
         "transactions" => ->(scene) { scene.copiers("app", members: 3) }}.each do |name, make|
          t15.run "coordinator dies, #{name}", allowed: WITH_BROKERS do
            app = make.call(self)
            begin_all
            broker = coordinator(app)
            nemesis.kill_broker(broker)
            pass(12)
            nemesis.stop_member(app.members.last)
            pass(15)
            nemesis.start_broker(broker)
            pass(6)
            nemesis.restart_broker(other(broker), down: 3)
            pass(8)
            expect_stall(20)
            finish
          end
        end

        t15.run "everything moves", allowed: ["retry of its batch", "aborted transaction"] do
          apps = [consumers("whole"), failing("key", mode: "key"), copiers("copy")]
          begin_all
          rounds(8).times do
            app = any(apps)
            case random.rand(3)
            when 0 then 6.times { |partition| nemesis.move_leader(app.topic, partition, to: random.rand(1..3)) }
            when 1 then nemesis.move_coordinator(app.group, to: other(coordinator(app)))
            else nemesis.move_transaction_coordinator("#{apps.last.group}-1", to: random.rand(1..3))
            end
            pass(random.rand(1.0..4.0))
          end
          finish
        end

        t15.run "coordinator frozen, eager and KIP-848", allowed: [*WITH_BROKERS, "forced stop"] do
          apps = [consumers("eager", protocol: :eager, members: 3, rate: 60),
            consumers("consumer", protocol: :consumer, members: 3, rate: 60)]
          begin_all
          apps.each do |app|
            broker = coordinator(app)
            nemesis.freeze_broker(broker)
            pass(10)
            app.members.last.may_end("exit 2") # its last commit waits for the frozen broker: docs/reliability.md
            nemesis.stop_member(app.members.last)
            pass(8)
            nemesis.thaw_broker(broker)
            pass(6)
          end
          expect_stall(25)
          finish
        end
      end

      define "T31", "connections are reset each second; the topic appears late",
        passes: "nothing lost, nothing twice, each key in order" do |t31|
        t31.test "ledger/cut_connections", broker: :one
        t31.run "resets", allowed: WITH_BROKERS do
          consumers("whole")
          failing("key", mode: "key")
          copiers("copy")
          begin_all
          rounds(40).times do
            nemesis.reset(broker: random.rand(1..3))
            pass(random.rand(0.5..1.5))
          end
          finish
        end

        t31.run "resets, a producer without settings", allowed: WITH_BROKERS do
          consumers("whole", rate: 200)
          begin_all(defaults: true)
          rounds(20).times do
            nemesis.reset(client: "penstock")
            pass(random.rand(0.5..1.5))
          end
          nemesis.bounce_broker(random.rand(1..3))
          pass(5)
          finish
        end
      end
    end
  end
end
