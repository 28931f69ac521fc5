# frozen_string_literal: true

require "test_helper"
require "net/http"
require "penstock/cli/control/session"
require "support/command_line"
require "support/delivering"
require "support/embedded_broker"
require "support/free_port"
require "support/started"
require "support/swarm/process"

module Penstock
  # The swarm as its users see it. Longer forms are in test/ledger.
  class SwarmTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::Delivering
    include TestSupport::Started

    extend TestSupport::EmbeddedBroker::OnePerClass

    def setup
      super
      @topic = topic
    end

    def topic(partitions = 2)
      "t#{rand(1 << 40)}".tap { |name| self.class.cluster.create_topic(name, partitions: partitions) }
    end

    def swarm(topics: {@topic => nil}, env: {}, **plan)
      plan = {kafka: self.class.cluster.kafka, group: "g#{rand(1 << 40)}", topics: topics, **plan}
      started(TestSupport::SwarmRun::Process.new(plan, env: env))
    end

    def produce(*payloads, partition: 0, topic: @topic)
      deliver(self.class.cluster.kafka, payloads.map { |payload| {topic: topic, payload: payload, partition: partition} })
    end

    def sockets(pid) = TestSupport::SwarmRun::Process.open_files(pid).grep(/\Asocket:/)

    def ends(run) = run.journal.select { |word, *| word == "end" }.map { |_word, _partition, offset, topic| [topic, offset] }

    # Each with a partition of its own, which it reads without a group.
    def apart(**plan)
      @topics = Array.new(2) { topic(1) }
      @topics.each_with_index.to_h { |name, node| [name, [node]] }.then { |topics| swarm(topics: topics, assign: true, **plan) }
    end

    def both_run(run) = run.await_log(/ running \(pid/, 2)

    test "[swarm boot] [swarm restart] each node is a member, the supervisor has no sockets; a killed node is replaced at once" do
      run = swarm
      run.await_members
      first = run.node(0)

      assert_empty sockets(run.pid)
      refute_empty sockets(first)
      run.signal(:KILL, first)
      run.await_log(/node 0: forked/, 2)
      refute File.exist?("/proc/#{first}"), "not waited for"
      both_run(run)
      rolled(run)
      run.signal(:TTIN)
      run.await_log(/watchman \(/, 2)
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
      assert_empty run.left
    end

    def rolled(run)
      run.signal(:USR2)
      run.await("both replaced") { run.pids_of(1).size == 2 }
      told = run.log.lines.drop_while { |line| !line.include?("SIGUSR2") }.join
      told = told.scan(/node (\d)(?: \(pid \d+\))?: (asked to stop|ended|forked)/)

      assert_equal %w[0 1].flat_map { |node| [[node, "asked to stop"], [node, "ended"], [node, "forked"]] }, told
    end

    test "without pidfds a killed node is replaced at once too" do
      run = apart(env: {"PENSTOCK_NO_PIDFD" => "1"})
      both_run(run)
      run.signal(:KILL, run.node(0))
      run.await_log(/ running \(pid/, 3)
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
    end

    test "[swarm orphan] no process is left when the supervisor is killed, also of nodes that spin in Ruby or in C" do
      run = apart
      %w[ruby c].zip(@topics) { |payload, topic| produce(payload, topic: topic) }
      run.await("two that spin") { run.journal.count { |word, *| word == "begin" } == 2 }
      run.signal(:KILL)
      run.await_nobody

      assert_empty ends(run)
    end

    test "[swarm stop] a stop in the middle of a batch duplicates and loses nothing" do
      group = "g#{rand(1 << 40)}"
      first = apart(group: group)
      @topics.each { |topic| produce(*Array.new(200) { "work 2" }, topic: topic) }
      first.await("records under way on both nodes") { ends(first).map(&:first).tally.values.count { |count| count > 10 } == 2 }
      first.signal(:TERM)
      assert_equal 0, first.await_end, first.tail
      second = swarm(group: group, topics: @topics.each_with_index.to_h { |name, node| [name, [node]] }, assign: true)
      second.await("the rest") { ends(first).size + ends(second).size >= 400 }
      second.signal(:TERM)
      assert_equal 0, second.await_end, second.tail

      done = ends(first) + ends(second)
      assert_operator ends(first).size, :<, 400
      assert_equal [400, 400], [done.size, done.uniq.size]
    end

    test "commands and probes reach a running swarm: status, quiet, restart, stop; live, ready and health" do
      run = controlled
      session = CLI::Control::Session.new({"PENSTOCK_RUN_DIR" => run.dir})
      run.await("a ready swarm") { probe("/ready") == "200" }

      assert_equal %w[200 200], %w[/live /health].map { |path| probe(path) }
      status = session.send_command(session.one(nil), "status")
      assert_equal [run.pid, "swarm", true, true], status.values_at(:pid, :kind, :live, :ready)
      assert_equal %w[healthy healthy], status[:nodes].map { |node| node[:state] }
      assert_match(/^ *#{run.node(1)} +node 1 +healthy +yes +yes +1 /, command(run, "status"))
      session.send_command(run.pid, "restart")
      run.await_log(/asked to stop \(a rolling restart\)/) # the stop arrives in the middle of it
      assert_match(/process #{run.pid} stops/, command(run, "stop"))
      assert_equal 0, run.await_end, run.tail
      assert_empty session.running
    end

    test "hostile clients of the supervisor end and delay nothing, and no node keeps a connection of theirs open" do
      run = controlled
      path = File.join(run.dir, "penstock-#{::Process.uid}", "#{run.pid}.sock")
      run.await("a ready swarm") { probe("/ready") == "200" }
      UNIXSocket.open(path) { |socket| socket.write("\xFF\xFE\n") && assert_match(/"ok":false/, socket.read) }
      silent = Array.new(100) { [TCPSocket.new("127.0.0.1", @port), UNIXSocket.new(path)] }.flatten
      run.signal(:KILL, run.node(0)) # the next one is forked while they are open
      run.await("another node") { run.pids_of(0).size == 2 }

      assert_equal "200", probe("/live")
      assert_match(/^ *#{run.pid} +swarm /, command(run, "status"))
      run.await("the end of all silent connections") do
        silent.all? { |socket| socket.wait_readable(0) && socket.read_nonblock(1, exception: false).nil? }
      end
      assert_match(/process #{run.pid} stops/, command(run, "stop"))
      assert_equal 0, run.await_end, run.tail
    ensure
      silent&.each(&:close)
    end

    def controlled
      @port = TestSupport::FreePort.take.first
      dir = Dir.mktmpdir("penstock-run")
      apart(controllable: true, health_port: @port, env: {"PENSTOCK_RUN_DIR" => dir}).tap { |run| run.dir = dir }
    end

    def probe(path)
      Net::HTTP.get_response("127.0.0.1", path, @port).code
    rescue SystemCallError
      nil
    end

    def command(run, name)
      out, status = Open3.capture2e({"PENSTOCK_RUN_DIR" => run.dir}, RbConfig.ruby, TestSupport::CommandLine::EXECUTABLE, name)
      assert_predicate status, :success?, out
      out
    end

    {"hangs" => "INT", "stops" => nil}.each do |warm_up, signal|
      test "a stop while the application warms up (it #{warm_up}) is a clean end, without a fork" do
        run = apart(warm_up: warm_up)
        run.await("the warm-up") { run.journal.any? { |word, *| word == "warm" } }
        run.signal(signal) if signal

        assert_equal 0, run.await_end, run.tail
        refute_match(/forked/, run.log)
      end
    end

    test "a node that dies while it starts is forked later each time, then held down with its reason; the code is 4" do
      run = apart(dies_at_boot: [0, 1], swarm: {restart_backoff: 50, restart_backoff_max: 150})

      assert_equal 4, run.await_end, run.tail
      [0, 1].each do |node|
        assert_equal [50, 100, 150], run.log.scan(/node #{node} .*exit code 9\), the next in (\d+) ms/).flatten.map(&:to_i)
        assert_match(/FATAL.*node #{node}: not started again \(exit code 9\)/, run.log)
      end
    end

    test "[swarm routing] a topic's nodes alone consume it; a quiet swarm (TSTP) replaces no node" do
      other = topic
      produce("x", topic: other)
      produce("y")
      run = swarm(topics: {@topic => [0], other => [1]})
      run.await("both records") { ends(run).size == 2 }
      run.signal(:TSTP)
      run.await_log(/ quieting: /, 3)
      run.signal(:KILL, run.node(0))
      run.await_log(/node 0 .*ended/)
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail
      assert_equal 1, run.pids_of(0).size, "replaced while the swarm was quiet"

      assert_equal [[@topic, "0"], [other, "1"]].sort, run.journal.filter_map { |word, *, topic, node|
        [topic, node] if word == "end"
      }.sort
    end

    test "[swarm direct split] each partition is read on its node only" do
      4.times { |partition| produce("x", partition: partition, topic: wide) }
      run = swarm(topics: {wide => {0 => [0, 2], 1 => [1, 3]}}, assign: true)
      run.await("all records") { ends(run).size == 4 }
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail

      nodes = run.journal.filter_map { |word, partition, *, node| [partition, node] if word == "end" }.sort
      assert_equal [%w[0 0], %w[1 1], %w[2 0], %w[3 1]], nodes
    end

    def wide = @wide ||= topic(4)

    test "[swarm producer settings] middleware and idempotence survive the fork" do
      produce("produce #{@topic}")
      run = swarm(middleware: true)
      run.await("both records") { ends(run).size == 2 }
      run.signal(:TERM)
      assert_equal 0, run.await_end, run.tail

      assert_equal ["true"], run.journal.filter_map { |word, _node, idempotent| idempotent if word == "produced" }
      assert_equal [nil, "middleware"], run.journal.filter_map { |word, *rest| rest.values_at(2) if word == "begin" }.flatten
    end

    test "TERM to the whole process group, as service managers send it, is one stop; a third to the supervisor ends all with 2" do
      run = apart(shutdown_timeout: 30_000)
      produce("stubborn", topic: @topics.first)
      run.await("a job") { run.journal.any? { |word, *| word == "begin" } }
      run.signal(:TERM, -run.pid)
      run.await_log(/ stopping: /, 3)
      run.await_log(/node 0 \(pid \d+\): asked to stop/) # the supervisor's own TERM is sent in addition
      run.signal(:INT, -run.pid)
      run.await("a second stop of the node at work") { received(run, run.node(0)).size >= 2 }
      run.signal(:TERM)

      assert_equal 2, run.await_end, run.tail
      assert_equal [%w[TERM TERM], %w[TERM INT TERM]], [run.node(0), run.pid].map { |pid| received(run, pid) }
      assert_empty run.left
    end

    # @return [Array<String>] signals that this process has received
    def received(run, pid) = run.log.scan(/ ##{pid}\] .*received SIG(\w+)/).flatten
  end
end
