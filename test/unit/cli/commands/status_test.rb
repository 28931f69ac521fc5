# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "json"
require "socket"
require "stringio"
require "tmpdir"
require "penstock/cli"
require "penstock/server/control"

class StatusTest < Penstock::TestCase
  def setup
    super
    @dir = Dir.mktmpdir("status")
    @env = {"PENSTOCK_RUN_DIR" => @dir}
    @folder = Penstock::Server::Control.folder(@env)
    FileUtils.mkdir_p(@folder)
    @servers = []
    @threads = []
  end

  def teardown
    @servers.each(&:close)
    @threads.each(&:join)
    FileUtils.remove_entry(@dir)
    super
  end

  # A process that gives this answer to each question, closes the connection without one, or is gone when it is asked.
  def process(pid, answer)
    path = File.join(@folder, "#{pid}.sock")
    server = UNIXServer.new(path)
    @servers << server
    @threads << Thread.new do
      while (connection = accept(server))
        question = connection.gets
        server.close && File.unlink(path) if question && answer.nil?
        connection.puts(JSON.generate(ok: true, answer: answer)) if question && answer && answer != :silent
        connection.close
      end
    end
  end

  def accept(server)
    server.accept
  rescue IOError, Errno::EBADF
    nil
  end

  def run_command(*argv)
    @out, @err = StringIO.new, StringIO.new
    context = Penstock::CLI::Context.new(stdin: StringIO.new, stdout: @out, stderr: @err, env: @env, dir: @dir)
    Penstock::CLI.start(argv, context)
  end

  def status(*argv) = run_command("status", *argv)

  def server(pid, live = true) = {pid: pid, kind: "server", state: "running", live: live, ready: true}

  def swarm(pid, *nodes) = {**server(pid), kind: "swarm", nodes: nodes}

  def node(number, state, live) = {node: number, pid: 900_000 + number, state: state, health: live.nil? ? nil : {live: live}}

  test "a process that ends between the listing and its answer is left out" do
    process(900_101, server(900_101))
    process(900_102, nil)

    assert_equal 0, status, -> { @err.string }
    assert_match(/^ *900101 +server +running +yes/, @out.string)
    refute_match(/900102/, @out.string)
  end

  test "a process that doesn't answer hides no other: it has a row and makes the exit code 1" do
    process(900_101, server(900_101))
    process(900_102, :silent)

    assert_equal 1, status
    assert_match(/^ *900101 +server +running +yes/, @out.string)
    assert_match(/^ *900102 +- +no_answer +no .* doesn't answer: end of file reached/, @out.string)
    assert_equal 1, status("--json")
    rows = JSON.parse(@out.string, symbolize_names: true)
    assert_equal [server(900_101), {pid: 900_102, state: "no_answer", live: false,
                                    reason: "doesn't answer: end of file reached"}], rows
  end

  test "an order for the application of this folder names the processes that don't answer" do
    process(900_102, :silent)
    process(900_103, {**server(900_103), root: "/elsewhere"})

    assert_equal 1, run_command("stop")
    assert_match(/no server or swarm that answers is .*: process 900102 doesn't answer: end of file reached; /, @err.string)
    assert_match(/others of this user are process 900103 server in \/elsewhere\. If a process/, @err.string)
  end

  test "the report of swarms has those that answer, and a row for a process that doesn't" do
    process(900_101, swarm(900_101))
    process(900_102, :silent)

    assert_equal 1, run_command("swarm", "--report")
    assert_match(/^supervisor +900101/, @out.string)
    assert_match(/^process 900102 doesn't answer: end of file reached: whether it is a swarm, and its nodes, aren't known$/,
      @out.string)
    assert_equal 1, run_command("swarm", "--report", "--json")
    assert_equal [["supervisor", 900_101], ["no answer", 900_102]],
      JSON.parse(@out.string).flatten.map { |row| row.values_at("process", "pid") }
  end

  test "if the only process has ended in the meantime, none runs" do
    process(900_102, nil)
    assert_equal 1, status
    assert_match(/no server or swarm of this user runs here/, @err.string)
    process(900_102, nil)
    assert_equal 1, status("--pid", "900102")
    assert_match(/no server or swarm runs here with the process id 900102: there is none/, @err.string)
  end

  test "a process or a node that isn't live makes the exit code 1, a booting one doesn't" do
    {server(900_101, false) => 1, swarm(900_101, node(0, "healthy", true), node(1, "starting", nil)) => 0,
     swarm(900_101, node(0, "healthy", true), node(1, "ready", false)) => 1,
     swarm(900_101, node(0, "not_responding", true)) => 1, swarm(900_101, node(0, "held_down", nil)) => 1}.each do |answer, code|
      process(900_101, answer)
      assert_equal code, status, answer
      @servers.pop.close
      File.unlink(File.join(@folder, "900101.sock"))
    end
  end

  test "topics held by an open breaker are listed below, also of a swarm's nodes, with the command that ends the hold" do
    open = {topics: %w[orders orders.retry.1], cause: "KeyError", error: "KeyError", held_ms: 65_000, left_ms: 235_000}
    process(11, {**server(11), breakers: [open]})
    health = {live: true, breakers: [{**open, cause: "an outage", error: "Errno::ECONNREFUSED", left_ms: nil}]}
    process(12, swarm(12, {node: 0, pid: 13, state: "healthy", health: health}))
    assert_equal 0, status
    held = "process 11 has held orders, orders.retry.1 for 65 s because of KeyError, for another 235 s at most: records " \
      "wait, none is dead-lettered, one at a time is tried; " \
      "`penstock breaker close --pid 11` ends it"
    assert_includes @out.string, held
    assert_match(/process 13 has held .* because of an outage \(the last error: Errno::ECONNREFUSED\), until a /, @out.string)
    assert_match(/process 13 .*; `penstock breaker close --pid 12` ends it/, @out.string)
  end

  test "[lock metrics] with lock_metrics the load of the workers is shown below, also that of a swarm's nodes" do
    load = {workers: 5, busy: 4.87, lock_wait: 0.624, estimated: false, over_ms: 60_012}
    process(11, {**server(11), load: load})
    process(12, swarm(12, {node: 0, pid: 13, state: "healthy", health: {live: true, load: {**load, estimated: true}}},
      {node: 1, pid: 14, state: "healthy", health: {live: true, load: load.except(:lock_wait)}}))
    assert_equal 0, status
    assert_includes @out.string, "process 11: 4.87 of 5 workers were busy in the last 60 s; 62 % of that time they waited for " \
      "Ruby's lock\n"
    assert_includes @out.string, "process 13: 4.87 of 5 workers were busy in the last 60 s; about 62 % of that time they"
    assert_match(/^process 14: 4.87 of 5 workers were busy in the last 60 s$/, @out.string)
  end

  def close_breakers(*argv) = run_command("breaker", "close", *argv)

  test "breaker close reports what it releases, and if there is nothing" do
    process(11, [{topics: ["orders"], cause: "KeyError"}])
    assert_equal [0, "process 11 releases orders, held for KeyError\n"], [close_breakers("--pid", "11"), @out.string]
    process(12, [])
    assert_equal [0, "process 12 has no open breaker\n"], [close_breakers("--pid", "12"), @out.string]
  end
end
