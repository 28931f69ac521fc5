# frozen_string_literal: true

require_relative "../odd_records"

# The short set, part of `bin/test`: much of the matrix in two runs, each with several kinds of work at once.
module Penstock
  module TestSupport
    module FaultRuns
      # A busy machine may cost a member its session; every invariant must hold all the same.
      SHORT_SET = [*WITH_DEATHS, "commit failed", "during a fault", "forced stop", "fenced"].freeze

      define "S1", "members are killed, frozen, stopped, join; poison (T01, T02, T09, T16, T18, T26 in brief)",
        passes: "the invariants" do |s1|
        s1.run "members", allowed: SHORT_SET do
          apps = [consumers("whole", short_session: true, rate: 60), failing("key", mode: "key", protocol: :consumer, rate: 60),
            copiers("copy", short_session: true, rate: 60),
            consumers("swarm", members: 1, nodes: 2, short_session: true, rate: 60)]
          begin_all(settle: 1)
          frozen = any(apps[0].alive)
          nemesis.freeze_member(frozen)
          victim = any(apps[2].alive)
          nemesis.kill_member(victim)
          apps[2].start(**apps[2].replacing(victim))
          apps[1].start
          pass(4)
          nemesis.kill_process(apps[3].alive.first, any(apps[3].alive.first.nodes))
          nemesis.stop_member(apps[1].alive.first)
          pass(9)
          nemesis.thaw_member(frozen)
          pass(3)
          finish
        end
      end

      define "S2", "brokers restart, are killed and frozen, connections are reset, a member leaves (T12, T13, T15, T31 in brief)",
        passes: "the invariants" do |s2|
        s2.run "brokers", allowed: SHORT_SET do
          apps = [consumers("whole", members: 3, rate: 60), failing("key", mode: "key", rate: 60),
            copiers("copy", rate: 60), consumers("consumer", protocol: :consumer, rate: 60)]
          begin_all(settle: 1)
          nemesis.restart_broker(other(coordinator(apps.first)))
          broker = coordinator(apps.first)
          nemesis.kill_broker(broker)
          pass(8)
          nemesis.stop_member(apps.first.alive.last)
          6.times { nemesis.reset(broker: random.rand(1..3)) && pass(0.5) }
          nemesis.start_broker(broker)
          nemesis.freeze_broker(other(broker).tap { |id| broker = id })
          pass(8)
          nemesis.thaw_broker(broker)
          pass(3)
          finish
        end
      end
    end
  end
end
