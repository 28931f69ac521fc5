# frozen_string_literal: true

# Exactly once, Kafka to Kafka.
module Penstock
  module TestSupport
    module FaultRuns
      # Copiers may run a record again, but none is copied twice.
      COPYING = [*WITH_DEATHS, "commit failed", "forced stop", "fenced", "during a fault", "connection reset"].freeze

      define "T26", "transactional copiers are killed", passes: "each record is copied once, in order" do |t26|
        t26.run "killed at random, while brokers go away", allowed: COPYING do
          apps = [copiers("whole", short_session: true), copiers("key", mode: "key", short_session: true)]
          begin_all
          rounds(8).times do |round|
            app = apps[round % 2]
            victim = any(app.alive)
            nemesis.kill_member(victim)
            app.start(**app.replacing(victim))
            nemesis.bounce_broker(random.rand(1..3)) if round == 4
            pass(random.rand(2.0..6.0))
          end
          pass(12)
          finish
        end

        t26.test "ledger/copiers", "killed at six", broker: :cluster
      end

      define "T27", "a frozen owner of a transaction returns", passes: "it commits nothing" do |t27|
        t27.run "frozen copiers", allowed: COPYING do
          app = copiers("copy", members: 3, short_session: true)
          begin_all
          rounds(3).times do
            frozen = any(app.alive)
            nemesis.freeze_member(frozen)
            pass(16)
            nemesis.thaw_member(frozen)
            pass(5)
            # The coordinator may have expired its transactional id; then it is fenced, and ends.
            frozen.may_end("exit 1")
            app.start if app.alive.size < 3
          end
          finish
        end

        t27.test "ledger/copiers", "frozen owner", broker: :cluster
      end

      define "T28", "responses to EndTxn, AddOffsetsToTxn and the like are lost or late, or their connection is reset",
        passes: "each record is copied once, in order" do |t28|
        %i[end_txn add_offsets_to_txn add_partitions_to_txn txn_offset_commit init_producer_id produce].each do |api|
          t28.run "#{api}: lost, late, reset", allowed: COPYING do
            copiers("copy", rate: 60)
            begin_all
            run.measured[:lost] = nemesis.rule(:drop, api: api, side: :response, permille: 50, client: "copy", times: 3) {
              pass(8)
            }
            run.measured[:late] = nemesis.rule(:delay, 1_500, api: api, side: :response, permille: 100, client: "copy") {
              pass(8)
            }
            run.measured[:reset_before] = nemesis.rule(:cut, 0, api: api, permille: 50, client: "copy") { pass(5) }
            run.measured[:reset_after] = nemesis.rule(:cut, 0, api: api, side: :response, permille: 50, client: "copy") {
              pass(5)
            }
            finish
          end
        end
      end

      define "T29", "rebalances during transactions, by key, with dead letters",
        passes: "each record is copied once or is one dead letter, in order" do |t29|
        t29.run "churn", allowed: COPYING do
          dead = run.topic("copy-dead", partitions: 1)
          app = copiers("copy", mode: "key", members: 2, kinds: Scene::TROUBLE, failing: true, dead: dead, short_session: true)
          begin_all
          rounds(10).times do |round|
            if app.alive.size > 2
              nemesis.public_send(round.even? ? :stop_member : :kill_member, any(app.alive))
            else
              app.start
            end
            pass(random.rand(2.0..4.0))
          end
          pass(12)
          finish
        end

        t29.test "ledger/copiers", "others come", broker: :cluster
      end
    end
  end
end
