# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "support/cgroup"
require "support/embedded_broker"
require "support/served"
require "support/swarm/process"

module Penstock
  # Unwanted ends: of a supervisor, of nodes at boot, of a job that outlives its stop. Short forms are in test/process.
  class LedgerEndsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    leaks_checked_per_class("swarms end with their supervisors, a little later")

    def swarm(**plan)
      plan = {kafka: cluster.kafka, group: "g#{rand(1 << 40)}", topics: {@topic => nil}, assign: true, **plan}
      started(TestSupport::SwarmRun::Process.new(plan))
    end

    # @return [Float] CPU seconds of a process
    def cpu_s(pid) = File.read("/proc/#{pid}/stat")[/\) (.*)/, 1].split.values_at(11, 12).sum(&:to_i) / 100.0

    # Remaining processes are found by their marker in the environment, and where possible by their control group, which
    # no process leaves by changing its name or session.
    test "T04: kill -9 of the supervisor leaves no process after 5 s, also of nodes stuck in C; a new swarm starts clean" do
      produce("c", "x")
      first = swarm(group: "ends", nodes: 3)
      group = TestSupport::Cgroup.new.tap { |made| made.add(first.pid) } unless TestSupport::Cgroup.obstacle
      first.await("nodes stuck in C") { first.journal.count { |word, *| word == "begin" } == 3 }
      assert_equal first.left.sort, group.pids.sort if group
      first.signal(:KILL)
      killed = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      first.await_nobody
      took = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - killed
      assert_operator took, :<, 5 * TestSupport::Wait.busy
      wait_until(5, "an empty control group") { group.pids.empty? && group.remove } if group

      second = serve("swarm", "--nodes", "2")
      second.await_log("begin c", 2)
      second.signal(:KILL)
    end

    test "T07: nodes that always die at boot are forked after longer waits up to the cap; the supervisor stays idle and logs why" do
      run = swarm(dies_at_boot: [0, 1], swarm: {restart_backoff: 500, restart_backoff_max: 2_000})
      run.await_log(/the next in 2000 ms/, 2)
      used = cpu_s(run.pid)

      assert_equal 4, run.await_end, run.tail
      [0, 1].each do |node|
        waits = run.log.scan(/node #{node} .*exit code 9\), the next in (\d+) ms/).flatten.map(&:to_i)
        assert_equal [500, 1_000, 2_000], waits, run.tail
        assert_match(/FATAL.*node #{node}: not started again \(exit code 9\)/, run.log)
      end
      assert_operator used, :<, 5, "CPU seconds for six forks"
    end

    STOP_MS = 8_000

    # @return [Array<Integer>] exit codes; all processes ended in time
    def stopped(*servers)
      servers.each { |server| server.signal(:TERM) }
      told = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      codes = servers.map(&:code)
      took = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - told
      assert_operator took, :<, (STOP_MS / 1_000) + (5 * TestSupport::Wait.busy)
      codes
    end

    def server(group, **env) = serve("server", env: {"GROUP" => group, "SHUTDOWN_TIMEOUT" => STOP_MS, **env})
    def member(group) = server(group, "ASSIGN" => nil)

    # With 0 if the record was committed before, otherwise by force.
    test "T10: TERM while the broker is away, five times: each ends within its time, and reports what it couldn't commit" do
      groups = Array.new(5) { "away-#{rand(1 << 40)}" }
      servers = groups.map { |group| server(group) }
      produce("work")
      servers.each { |server| server.await_log("end work") }
      cluster.broker_down
      codes = stopped(*servers)
      cluster.broker_up

      assert_empty codes - [0, 2]
      forced = groups.zip(servers, codes).select { |_group, _server, code| code == 2 }
      forced.each { |_group, server, _code| assert_match(/shutdown_timeout was too short: the poll loop/, server.log) }
      forced.map { |group,| server(group) }.each { |server| server.await_log("begin work") }
    ensure
      cluster.broker_up
    end

    test "T10: TERM during a rebalance, five times: all end in order, and nothing runs twice" do
      pairs = Array.new(5) do
        group = "rebalance-#{rand(1 << 40)}"
        first = member(group)
        first.await_log(": assigned")
        [first, member(group)]
      end
      produce("work")
      pairs.each do |pair|
        pair.last.await_log(/ running \(pid/)
        assert_equal [0, 0], stopped(*pair), pair.map(&:tail).join
        assert_operator pair.sum { |server| server.log.scan("end work").size }, :<=, 1, pair.map(&:log).join("\n---\n")
      end
    end

    test "T11: a job longer than shutdown_timeout: the process ends by force within 5 s, with code 2, and the record runs again" do
      produce("stubborn")
      group = "ends-#{rand(1 << 40)}"
      first = serve("server", env: {"GROUP" => group, "SHUTDOWN_TIMEOUT" => 8_000})
      first.await_log("begin stubborn")
      first.signal(:TERM)
      told = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      assert_equal 2, first.code, first.tail
      took = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - told
      assert_includes (3.0..(8 + 5 * TestSupport::Wait.busy)), took
      assert_match(%r{1 jobs still ran: #{@topic}/0 offsets 0\.\.0}, first.log)

      second = serve("server", env: {"GROUP" => group})
      second.await_log("begin stubborn")
      second.signal(:KILL)
    end
  end
end
