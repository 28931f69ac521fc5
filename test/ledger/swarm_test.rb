# frozen_string_literal: true

require "test_helper"
require "time"
require "penstock/admin"
require "support/cgroup"
require "support/delivering"
require "support/real_broker"
require "support/started"
require "support/swarm/process"

module Penstock
  # Swarm tests that take minutes, on a real broker. The short forms are in test/process/swarm_test.rb.
  class LedgerSwarmTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Delivering
    include TestSupport::Started

    PARTITIONS = 6
    leaks_checked_per_class("clients of a real broker end a little later")

    def setup
      super
      @topic = unique("swarm")
      @kafka = {"bootstrap.servers": bootstrap_servers, "session.timeout.ms": 6_000, "fetch.wait.max.ms": 50}
      admin = Admin.new(kafka: @kafka)
      admin.create_topic(@topic, partitions: PARTITIONS)
      admin.close
      @produced = 0
    end

    def swarm(**plan)
      plan = {kafka: @kafka, group: @topic, topics: {@topic => nil}, nodes: 3, **plan}
      started(TestSupport::SwarmRun::Process.new(plan))
    end

    def produce(count, payload)
      deliver(@kafka, Array.new(count) { |index| {topic: @topic, payload: payload, partition: index % PARTITIONS} })
      @produced += count
    end

    def ends(*runs)
      runs.flat_map(&:journal).filter_map { |word, partition, offset| [partition, offset] if word == "end" }
    end

    def times(run, pattern)
      run.log.lines.grep(pattern).map { |line| Time.parse(line[/\[(\S+)/, 1]) }
    end

    def stop(run)
      run.signal(:TERM)
      assert_equal 0, run.await_end(60), run.tail
      assert_empty run.left
    end

    test "T01: a node is killed every two seconds, ten times: each is replaced within 3 s, and nothing is lost" do
      run = swarm
      run.await_members(3)
      10.times do |round|
        produce(600, "work 2")
        run.signal(:KILL, run.node(round % 3))
        observe_for(2)
      end
      run.await("all records", 120) { ends(run).uniq.size == @produced }
      stop(run)
      ended, running = times(run, /ended \(SIGKILL\)/), times(run, / running \(pid/).drop(3)

      assert_equal [10, 10], [ended.size, running.size]
      assert_operator ended.zip(running).map { |from, to| to - from }.max, :<, 3 * TestSupport::Wait::TIME_FACTOR
    end

    test "T02: a node that is stopped past its session is replaced; its records run elsewhere" do
      run = swarm(shutdown_timeout: 2_000, swarm: {supervision_interval: 1_000, liveness_timeout: 8_000})
      run.await_members(3)
      frozen = run.node(1)
      run.signal(:STOP, frozen)
      produce(600, "work 1")
      run.await_log(/node 1 \(pid #{frozen}\): asked to stop \(it sent no report/)
      run.await_log(/node 1 \(pid #{frozen}\): killed/)
      run.await("all records", 90) { ends(run).uniq.size == @produced }
      stop(run)
    end

    test "T02: a node that continues after its session knows that it has lost its partitions: its marks return false" do
      run = swarm(swarm: {liveness_timeout: 120_000})
      run.await_members(3)
      produce(PARTITIONS, "until lost or 1000")
      run.await("jobs of all partitions") { run.journal.count { |word, *| word == "begin" } >= PARTITIONS }
      run.signal(:STOP, run.node(1))
      marks = -> { run.journal.filter_map { |word, *rest| rest if word == "mark" } }
      run.await("all records", 90) { marks.call.count { |*, kept, node| kept == "true" && node != "1" } >= PARTITIONS }
      run.signal(:CONT, run.node(1))
      run.await("its marks", 60) { marks.call.any? { |*, node| node == "1" } }
      produce(300, "work 1")
      run.await("all records", 60) { ends(run).uniq.size == @produced }
      stop(run)

      assert_equal ["false"], marks.call.filter_map { |_partition, offset, kept, node| kept if node == "1" && offset == "0" }.uniq
      assert_equal @produced, marks.call.select { |*, kept, _node| kept == "true" }.map { |mark| mark.first(2) }.uniq.size
      assert_equal [1, 1, 1], Array.new(3) { |node| run.pids_of(node).size }, run.tail
    end

    test "T03: a supervisor that is frozen for 20 s, three times a node's allowed silence, replaces no node" do
      run = swarm(swarm: {supervision_interval: 1_000, liveness_timeout: 6_000})
      run.await_members(3)
      run.signal(:STOP)
      observe_for(20)
      run.signal(:CONT)
      observe_for(5)

      assert_equal [1, 1, 1], Array.new(3) { |node| run.pids_of(node).size }, run.tail
      stop(run)
    end

    test "T05: nodes that have run their jobs, or are old, are replaced one at a time, under load: nothing twice, nothing lost" do
      run = swarm(swarm: {jobs_limit: 10, age_limit: 15_000, supervision_interval: 1_000})
      run.await_members(3)
      produce(9_000, "work 2")
      run.await("six that were replaced", 120) { run.log.scan(/asked to stop \(\d+ (?:jobs|ms of age)/).size >= 6 }
      run.await("all records", 120) { ends(run).size >= @produced }
      stop(run)

      assert_equal [@produced, @produced], [ends(run).size, ends(run).uniq.size]
      assert_match(/\d+ jobs, its limit is 10/, run.log)
      told = run.log[/.*?\(the swarm stops\)/m].scan(/node (\d)(?: \(pid \d+\))?: (asked to stop \(\d|ended|forked)/).drop(3)
      told.map(&:first).each_slice(3) { |nodes| assert_equal 1, nodes.uniq.size, "two at a time" if nodes.size == 3 }
    end

    # A group of processes with a memory limit; the node's process is in it.
    def limited(pid, bytes)
      TestSupport::Cgroup.obstacle&.then { |why| skip why }
      group = TestSupport::Cgroup.new(memory: bytes).tap { |made| made.add(pid) }
      yield
    ensure
      wait_until(10, "an empty group") { group.remove } if group
    end

    test "T05: a node that the kernel kills for its memory is replaced; nothing is lost, and no other process ends" do
      run = swarm
      run.await_members(3)
      limited(run.node(1), 128 << 20) do
        produce(1_200, "work 1")
        produce(PARTITIONS, "eat")
        produce(1_200, "work 1")
        run.await_log(/node 1 .*ended \(SIGKILL\)/)
      end
      run.await("all records", 90) { ends(run).uniq.size == @produced }
      stop(run)

      assert_equal [1, 2, 1], Array.new(3) { |node| run.pids_of(node).size }, run.tail
    end

    test "T08: sixty restarts leave no descriptor open in the supervisor" do
      run = swarm(assign: true)
      run.await_members(3)
      before = Dir.children("/proc/#{run.pid}/fd").size
      60.times do |round|
        run.signal(:KILL, run.node(round % 3))
        run.await_members(round + 4)
      end

      assert_operator Dir.children("/proc/#{run.pid}/fd").size, :<=, before
      stop(run)
    end

    test "T01, T08 with a mold: 200 nodes are killed, and with every tenth the mold: no descriptor leaks, no node exists twice" do
      run = swarm(assign: true, swarm: {mold: true, restart_backoff: 50})
      run.await_members(3)
      open = -> { [run.pid, run.molds.last].map { |pid| run.descriptors(pid).size } }
      before = [].tap { |samples| observe_for(0.3) { samples << open.call } }.transpose.map(&:min)
      200.times do |round|
        produce(60, "work 1") if (round % 10).zero?
        run.signal(:KILL, run.molds.last) if (round % 10).zero?
        run.signal(:KILL, run.node(round % 3))
        run.await_members(round + 4)
        run.await("one process a node") { (run.children_of(run.pid) - run.zombies).size <= 4 }
      end
      run.await("all records", 180) { ends(run).uniq.size == @produced }
      run.await("descriptors as before") { open.call.zip(before).all? { |now, earlier| now <= earlier } }
      run.await("nobody unwaited for") { run.zombies.empty? }
      stop(run)
    end

    test "T09: a stop in the middle of batches, five times: nothing twice, nothing lost" do
      produce(9_000, "work 2")
      runs = Array.new(5) do
        run = swarm
        before = ends(*@started).size
        run.await("records under way", 60) { ends(*@started).size >= [before + 300, @produced].min }
        stop(run)
        run
      end
      assert_operator ends(runs.first).size, :<, @produced, "the first stop came too late"
      last = swarm
      last.await("the rest", 120) { ends(*runs, last).size >= @produced }
      stop(last)

      assert_equal [@produced, @produced], [ends(*@started).size, ends(*@started).uniq.size]
    end

    test "T10: TERM twice, and TERM with INT, with a job that doesn't end, during boot too: each ends in time" do
      produce(6, "stubborn")
      [%i[TERM TERM], %i[TERM INT], %i[INT TERM TERM]].each do |signals|
        run = swarm(shutdown_timeout: 30_000)
        run.await("jobs", 60) { run.journal.any? { |word, *| word == "begin" } }
        signals.each { |name| run.signal(name) && observe_for(0.2) }
        assert_equal 2, run.await_end(20), run.tail
        assert_empty run.left
      end
      run = swarm(group: unique("boot"), topics: {@topic => [0], unique("other") => [1, 2]})
      run.await_log(/: forked/)
      run.signal(:TERM)
      run.await_end(60)
      assert_empty run.left
    end
  end
end
