# frozen_string_literal: true

require_relative "../full_disk"

# Faults of machines, supervisors and the environment. Most need no group and are tests of their own.
module Penstock
  module TestSupport
    module FaultRuns
      define "T03", "the supervisor is frozen", passes: "no healthy node is killed, none is started twice" do |t03|
        t03.test "ledger/swarm", "T03", broker: :cluster
      end

      define "T04", "the supervisor is killed", passes: "all nodes are gone within 5 s; a new swarm starts clean" do |t04|
        t04.test "ledger/ends", "T04"
      end

      define "T05", "nodes exceed their limits of memory, jobs and age",
        passes: "replaced in order, nothing twice; nothing lost" do |t05|
        t05.test "ledger/swarm", "T05", broker: :cluster
      end

      define "T06", "an unrelated process gets the pid of a dead node", passes: "it gets no signal" do |t06|
        t06.test "process/recycled_pid"
      end

      define "T07", "nodes always die at boot", passes: "capped back-off, an idle supervisor, the reason in the log" do |t07|
        t07.test "ledger/ends", "T07"
      end

      define "T08", "hundreds of restarts; a million frames of garbage",
        passes: "the supervisor survives and leaks no descriptor" do |t08|
        t08.test "ledger/swarm", "T08", broker: :cluster
        t08.test "unit/swarm/frame", env: {"PENSTOCK_FUZZ_FRAMES" => "1000000"}
      end

      define "T11", "a job takes longer than the shutdown timeout",
        passes: "forced exit with code 2; the record runs again" do |t11|
        t11.test "ledger/ends", "T11"
      end

      define "T30", "a producer's queue is full and the broker stopped: close, fork, TERM",
        passes: "back-pressure, no deadlock, each handle resolved once" do |t30|
        t30.test "native/producer/stopped_broker"
        t30.run "no broker answers for 20 s", allowed: [*WITH_BROKERS, "forced stop"] do
          consumers("whole", rate: 100)
          begin_all(kafka: {"queue.buffering.max.messages": 500})
          cluster.nodes.each_key { |id| nemesis.freeze_broker(id) }
          pass(20)
          cluster.nodes.each_key { |id| nemesis.thaw_broker(id) }
          pass(5)
          finish
        end
      end

      define "T32", "wrong or revoked credentials, missing rights, bad certificates",
        passes: "typed error, back-off, no plaintext retry, recovers" do |t32|
        t32.test "broker/security"
        t32.test "broker/doctor"
      end

      define "T33", "a broker's disk is full", passes: "nothing is acknowledged falsely; consumption continues" do |t33|
        t33.run "full disk", allowed: WITH_BROKERS do
          skip_run("needs root for a small file system") unless ::Process.uid.zero?
          consumers("whole", rate: 100)
          broker = random.rand(1..3)
          FullDisk.on(cluster, broker) do |disk|
            begin_all(bytes: 2_000)
            nemesis.fault("disk full", broker) { disk.fill }
            pass(15)
            run.measured[:broker_after] = cluster.states.fetch(broker).name
            disk.empty
          end
          finish
        end
      end

      define "T34", "descriptors, threads, disk or the log's device are exhausted",
        passes: "degrades, or exits with a message" do |t34|
        t34.test "ledger/exhaustion"
        t34.test "process/exhaustion"
      end

      define "T35", "the wall clock jumps", passes: "nothing runs early, nothing stalls" do |t35|
        t35.test "ledger/clock"
        t35.test "process/clock"
      end

      define "T36", "secrets in settings", passes: "they appear in no log, dump, error or inspect" do |t36|
        t36.test "ledger/secrets"
        t36.test "broker/security", "secrets"
      end

      define "T37", "hostile payloads, names and requests to the Web UI", passes: "nothing injected",
        missing: "there is no Web UI in this version"
      define "T38", "forged and replayed commands of the Web UI", passes: "ignored, audited, expired",
        missing: "there is no Web UI in this version"
      define "T40", "the driver under AddressSanitizer, valgrind and GC.stress", passes: "no report" do |t40|
        t40.command "bin/test", "native", "--asan"
        t40.command "bin/test", "native", "--gc-stress"
        t40.command "bin/test", "native", "--valgrind"
      end
    end
  end
end
