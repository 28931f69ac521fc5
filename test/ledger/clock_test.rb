# frozen_string_literal: true

require "test_helper"
require "support/clock/scenario"

module Penstock
  # The effects of a wall clock that is set: on an idle server, on one that waits, and on a swarm.
  class LedgerClockTest < TestCase
    include TestSupport::Jumping::Scenario

    JUMPS = {ahead: 3_600, back: -3_600}.freeze

    # librdkafka 2.16.0 waits by the wall clock: if that is set back, the current wait lasts until a request reaches the
    # client, for example a commit. Its session may have expired by then, once.
    ASSIGNMENTS = {ahead: 1..1, back: 1..2}.freeze

    JUMPS.each do |name, seconds|
      test "T35: an idle member stays in its group, and consumes new records, when the clock is set #{name}" do
        kafka = cluster.kafka.merge("fetch.wait.max.ms": 3_000)
        server = jumping(name, env: {"ASSIGN" => nil, "KAFKA" => JSON.generate(kafka)})
        server.await_log(/assigned/)
        observe_for(1) # its client is idle
        clock(name).set(seconds)
        observe_for(15) # several sessions of its broker
        produce("x")
        await_times(server, "x", 1)

        assert_includes ASSIGNMENTS.fetch(name), server.log.scan(": assigned").size, server.tail
        stop(server)
      end

      test "T35: a delayed record is neither early nor late forever, when the clock is set #{name}" do
        server = jumping(name, env: {"TOPIC_SAYS" => "delay_by 4_000"})
        produce("first") # with it the clock is read
        await_times(server, "first", 1)
        produced = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :millisecond)
        produce("x")
        clock(name).set(seconds)
        await_times(server, "x", 1)

        assert_operator times(server, "x").first - produced, :>=, 3_900
        stop(server)
      end
    end

    test "T35: a swarm replaces no node when its clock is set, ahead and back; a stop ends it in time" do
      swarm = serve("swarm", "--nodes", "2", env: {**clock(:swarm).env, "MORE" =>
        "PenstockApp.setup { |config| (config.swarm.supervision_interval = 1_000) && config.swarm.liveness_timeout = 4_000 }"})
      swarm.await_log(/ running \(pid/, 2)
      [3_600, -3_600, 0].each do |seconds|
        clock(:swarm).set(seconds)
        observe_for(6)
      end
      stop(swarm)

      assert_equal 2, swarm.log.scan(": forked (pid").size, swarm.tail
    end
  end
end
