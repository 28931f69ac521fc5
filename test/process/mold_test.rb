# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "support/delivering"
require "support/embedded_broker"
require "support/started"
require "support/swarm/process"

module Penstock
  # A swarm whose nodes are forked by a mold. Longer forms are in test/ledger.
  class MoldTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::Delivering
    include TestSupport::Started

    extend TestSupport::EmbeddedBroker::OnePerClass

    def setup
      super
      skip "a mold takes Linux" unless RUBY_PLATFORM.include?("linux")
      @topics = Array.new(2) { "t#{rand(1 << 40)}".tap { |name| self.class.cluster.create_topic(name, partitions: 1) } }
    end

    # Each node has a topic of its own, which it reads without a group.
    def swarm(swarm: {}, env: {}, **plan)
      topics = @topics.each_with_index.to_h { |name, node| [name, [node]] }
      plan = {kafka: self.class.cluster.kafka, group: "g#{rand(1 << 40)}", topics: topics, assign: true,
              swarm: {mold: true, **swarm}, **plan}
      started(TestSupport::SwarmRun::Process.new(plan, env: env))
    end

    def produce(payload, topic) = deliver(self.class.cluster.kafka, [{topic: topic, payload: payload}])

    def running(run, times) = run.await_log(/ running \(pid/, times)

    def parent(pid) = Integer(File.read("/proc/#{pid}/status")[/^PPid:\s+(\d+)/, 1])

    def pipes(pid) = TestSupport::SwarmRun::Process.open_files(pid).grep(/\Apipe:/)

    # @return [Array<Integer>] how many descriptors the supervisor and its mold have open
    def open_ones(run) = [run.pid, run.molds.last].map { |pid| run.descriptors(pid).size }

    # Descriptors that a fork, or reading a folder, opens for a moment come on top.
    def lasting_ones(run)
      samples = []
      observe_for(0.3) { samples << open_ones(run) }
      samples.transpose.map(&:min)
    end

    def stop(run)
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
      assert_empty run.left
    end

    test "a report contains the memory of the supervisor, its mold and its nodes, and how much they share" do
      dir = Dir.mktmpdir("penstock-run")
      run = swarm(controllable: true, env: {"PENSTOCK_RUN_DIR" => dir}).tap { |made| made.dir = dir }
      running(run, 2)
      out, status = Open3.capture2e({"PENSTOCK_RUN_DIR" => dir}, RbConfig.ruby, TestSupport::CommandLine::EXECUTABLE, "swarm",
        "--report")

      assert_predicate status, :success?, out
      pids = [["supervisor", run.pid], ["mold", run.molds.last], ["node 0", run.node(0)], ["node 1", run.node(1)]]
      pids.each { |name, pid| assert_match(/^#{name} +#{pid} +\d+ +\d+ +\d+ %$/, out) }
      assert_match(/^all +- +- +\d+/, out)
      stop(run)
    end

    test "the mold gets its go-ahead, and nodes that it forked are the supervisor's children; it holds no end of their pipes" do
      run = swarm
      running(run, 2)
      mold = run.molds.last
      nodes = [0, 1].map { |node| run.node(node) }

      assert_equal [[mold, run.pid]], run.journal.filter_map { |word, *pids| pids.map(&:to_i) if word == "warm" }
      assert_equal [run.pid], [mold, *nodes].map { |pid| parent(pid) }.uniq
      shared = nodes.map { |pid| pipes(pid) & pipes(run.pid) }
      reports = shared.map { |own| own - shared.reduce(:&) }
      assert_equal [1, 1], reports.map(&:size)
      assert_empty pipes(mold) & reports.flatten
      stop(run)
    end

    test "nodes outlive their mold; a node that dies then is forked by the next mold, warm at once, and no zombie is left" do
      run = swarm
      produce("leaves", @topics.last)
      running(run, 2)
      left = run.await("what a consumer left behind") { run.journal.assoc("left")&.last }
      before = lasting_ones(run)
      2.times do |round|
        run.signal(:KILL, run.molds.last)
        run.signal(:KILL, run.node(0))
        running(run, 3 + round)
      end
      run.await("end of what a consumer left behind") { !File.exist?("/proc/#{left}") && run.zombies.empty? }

      assert_equal 1, run.pids_of(1).size, "a node went with its mold"
      assert_equal [3, 3], [run.molds.uniq.size, run.pids_of(0).size]
      assert_equal [run.molds.last, run.node(0), run.node(1)].sort, run.children_of(run.pid).sort
      assert_equal [["shared", run.pid.to_s]], run.journal.select { |word, *| word == "shared" }
      run.await("descriptors as before") { open_ones(run).zip(before).all? { |now, earlier| now <= earlier } }
      stop(run)
    end

    test "no process is left when the supervisor is killed, also of nodes that spin, and their mold" do
      run = swarm
      %w[ruby c].zip(@topics) { |payload, topic| produce(payload, topic) }
      run.await("two that spin") { run.journal.count { |word, *| word == "begin" } == 2 }
      run.signal(:KILL)
      run.await_nobody

      assert_empty run.journal.select { |word, *| word == "end" }
    end

    test "a mold that is stopped is killed in time, and the requested node is forked by the next one, once" do
      run = swarm(swarm: {supervision_interval: 1_000})
      running(run, 2)
      run.signal(:STOP, run.molds.last)
      run.signal(:KILL, run.node(0))
      run.await_log(/mold \(pid \d+\): ended \(it didn't answer within/)
      running(run, 3)

      assert_equal 2, run.pids_of(0).size
      stop(run)
    end

    test "after molds that die in their warm-up nodes are forked from the supervisor, and a warning reports it" do
      run = swarm(warm_up: "dies", swarm: {restart_backoff: 50})
      run.await_log(/WARN.*nodes are forked from the supervisor, without a mold \(exit code 8\)/)
      running(run, 2)
      assert_equal 3, run.log.scan(/mold \(pid \d+\): ended/).size
      stop(run)
    end

    test "a warm-up that opens a client is refused with the line that did, and the code is 1" do
      run = swarm(warm_up: "opens")

      assert_equal 1, run.await_end, run.tail
      assert_match(/nodes must be forked before anything is open to Kafka: .*program\.rb:\d+/, run.log)
    end

    test "a stop while the mold warms up leaves no process" do
      run = swarm
      run.await("a warm-up") { run.journal.any? { |word, *| word == "warm" } }
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
      run.await_nobody
    end

    test "a stop while a node is awaited leaves no process, and the node isn't forked" do
      run = swarm(swarm: {supervision_interval: 60_000, liveness_timeout: 300_000}) # the mold has two minutes to answer
      running(run, 2)
      asked, forked = run.journal.count(%w[asked 0]), run.pids_of(0)
      run.signal(:STOP, run.molds.last)
      run.signal(:KILL, forked.last)
      run.await("a request that nobody reads") { run.journal.count(%w[asked 0]) > asked }
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
      run.await_nobody
      assert_equal forked, run.pids_of(0)
    end
  end
end
