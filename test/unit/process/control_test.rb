# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/cli/control/session"
require "penstock/process/control"
require "penstock/runtime/threads"

module Penstock
  class ControlTest < TestCase
    def setup
      super
      @dir = Dir.mktmpdir
      @threads = Runtime::Threads.new(->(_name, error) { raise error })
      @session = CLI::Control::Session.new({"PENSTOCK_RUN_DIR" => @dir})
    end

    def teardown
      @control&.close
      wait_until(20) { @threads.living.empty? }
      FileUtils.remove_entry(@dir)
      super
    end

    def control(**commands)
      folder = ServerProcess::Control.folder({"PENSTOCK_RUN_DIR" => @dir})
      @control = ServerProcess::Control.new(commands.transform_keys(&:to_s), folder: folder).start(@threads)
    end

    def pid = ::Process.pid

    test "a command gets its answer, one that isn't there or fails says so" do
      control(status: -> { {state: "running", nodes: [1]} }, stop: -> { raise IOError, "no" })

      assert_equal [pid], @session.running
      assert_equal({state: "running", nodes: [1]}, @session.ask(@session.one(nil), "status"))
      assert_match(/there is no command "restart"/, assert_raises(CLI::Usage) { @session.ask(pid, "restart") }.message)
      assert_match(/IOError: no/, assert_raises(CLI::Usage) { @session.ask(pid, "stop") }.message)
    end

    test "nobody else may open the socket, nor look into its folder" do
      path = control.path

      assert_equal [0o600, 0o700], [path, File.dirname(path)].map { |name| File.stat(name).mode & 0o777 }
    end

    test "a folder that others may write to isn't used" do
      folder = ServerProcess::Control.folder({"PENSTOCK_RUN_DIR" => @dir})
      Dir.mkdir(folder)
      File.chmod(0o777, folder)

      assert_match(/isn't a folder of this user's alone/, assert_raises(Errno::EPERM) { control }.message)
    end

    test "nonsense, silence and a client that leaves hold up nobody" do
      control(status: -> { 7 })
      UNIXSocket.open(@control.path) { |socket| socket.write("nonsense\n") && assert_match(/"ok":false/, socket.gets) }
      UNIXSocket.open(@control.path) { |socket| socket.write("{") }
      silent = UNIXSocket.new(@control.path)

      assert_equal 7, @session.ask(pid, "status")
    ensure
      silent&.close
    end

    test "a socket whose process is gone is put away; none, and the wrong one, are told" do
      path = control.path
      @control.forget
      wait_until(20) { @threads.living.empty? }

      assert_empty @session.running
      refute File.exist?(path)
      assert_match(/no server or swarm of this user runs here/, assert_raises(CLI::Usage) { @session.one(nil) }.message)
      assert_match(/process id 1: none does/, assert_raises(CLI::Usage) { @session.one(1) }.message)
    end
  end
end
