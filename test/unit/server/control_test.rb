# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/cli/control/session"
require "penstock/server/control"
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
      folder = Server::Control.folder({"PENSTOCK_RUN_DIR" => @dir})
      @control = Server::Control.new(commands.transform_keys(&:to_s), folder: folder).start(@threads)
    end

    def pid = ::Process.pid

    test "a command gets its answer, an unknown or failing one gets an error" do
      control(status: -> { {pid: pid, state: "running", nodes: [1], root: Config::Root.path} }, stop: -> { raise IOError, "no" })

      assert_equal [pid], @session.running
      assert_equal({state: "running", nodes: [1]}, @session.send_command(@session.one(nil), "status").slice(:state, :nodes))
      assert_match(/there is no command "restart"/, assert_raises(CLI::Usage) { @session.send_command(pid, "restart") }.message)
      assert_match(/IOError: no/, assert_raises(CLI::Usage) { @session.send_command(pid, "stop") }.message)
    end

    test "a command that is refused shows its reason alone" do
      control(restart: -> { raise Server::Control::Refused, "it is quiet" })

      assert_equal "process #{pid}: it is quiet", assert_raises(CLI::Usage) { @session.send_command(pid, "restart") }.message
    end

    test "without --pid only the process of the application in the current folder is found, the others are listed" do
      control(status: -> { {pid: pid, kind: "server", client_id: "shop", root: "/srv/shop/1", folder: "/srv/shop/current"} })
      error = assert_raises(CLI::Usage) { @session.one(nil) }
      assert_equal "no server or swarm of the application in #{Config::Root.path} runs here. Others of this user are: process " \
        "#{pid} server shop in /srv/shop/1. Name one with --pid, or call the command in its folder", error.message
      assert_equal pid, @session.one(pid)

      in_shop = CLI::Control::Session.new({"PENSTOCK_RUN_DIR" => @dir, "PENSTOCK_ROOT_DIR" => "/srv/shop/1"})
      assert_equal pid, in_shop.one(nil)
    end

    test "a link that names another release by now is the same place" do
      Dir.mkdir(release = File.join(@dir, "2"))
      File.symlink(release, link = File.join(@dir, "current"))
      place = Server::Place.of({"PWD" => link}, File.realpath(release))
      assert place.same?(File.join(@dir, "1"), link)
      refute place.same?(File.join(@dir, "1"), File.join(@dir, "other"))
      assert_equal File.realpath(release), Server::Place.of({"PWD" => "/"}, File.realpath(release)).folder
    end

    test "several processes of one application are listed, also one that doesn't answer, and none is chosen" do
      statuses = [1, 2].map { |number| {pid: number, kind: "server", root: Config::Root.path} } << {pid: 3}
      @session.define_singleton_method(:described) { statuses }
      message = assert_raises(CLI::Usage) { @session.one(nil) }.message
      assert_match(/\Awhich one\? There are process 1 server in .*; process 2 server in .*\. Name one with --pid\z/, message)
    end

    test "no other user may open the socket or list its folder" do
      path = control.path

      assert_equal [0o600, 0o700], [path, File.dirname(path)].map { |name| File.stat(name).mode & 0o777 }
    end

    test "an empty variable doesn't name the folder" do
      folder = ->(**env) { File.dirname(Server::Control.folder(env.transform_keys(&:to_s))) }

      assert_equal "/run/me", folder.call(PENSTOCK_RUN_DIR: "", XDG_RUNTIME_DIR: "/run/me")
      assert_equal Dir.tmpdir, folder.call(PENSTOCK_RUN_DIR: "", XDG_RUNTIME_DIR: "")
    end

    test "a folder that others may write to isn't used" do
      folder = Server::Control.folder({"PENSTOCK_RUN_DIR" => @dir})
      Dir.mkdir(folder)
      File.chmod(0o777, folder)

      assert_match(/is not a folder that only this user can access/, assert_raises(Errno::EPERM) { control }.message)
    end

    test "invalid requests, silent and disconnecting clients delay nobody" do
      control(status: -> { 7 })
      UNIXSocket.open(@control.path) { |socket| socket.write("nonsense\n") && assert_match(/"ok":false/, socket.gets) }
      UNIXSocket.open(@control.path) { |socket| socket.write("{") }
      silent = UNIXSocket.new(@control.path)

      assert_equal 7, @session.send_command(pid, "status")
    ensure
      silent&.close
    end

    # @return [Hash] the reply to a raw line
    def reply(line)
      UNIXSocket.open(@control.path) do |socket|
        socket.write(line)
        assert socket.wait_readable(40), "no answer to #{line.inspect}"
        JSON.parse(socket.read)
      end
    end

    test "bytes that aren't UTF-8, or aren't a request, are refused with valid JSON, and the next command is answered" do
      control(status: -> { 7 })
      ["\xFF\xFE\n", "\n", "[]\n", "\"status\"\n", "7\n", "{}\n", "#{"[" * 4_000}\n", %({"command":["status"]}\n),
        %({"command":"\xFF\e[2J"}\n), %({"command":"\\ud800"}\n), "\0\0\n", "a" * 4_096].each do |line|
        reply = reply(line)

        assert_equal false, reply["ok"], line.inspect
        refute_match(/[[:cntrl:]]/, reply["error"], line.inspect)
        assert_equal 7, @session.send_command(pid, "status"), line.inspect
      end
    end

    test "an answer with bytes that aren't UTF-8 is made valid" do
      control(status: -> { {"group\xFF" => "\xFE".b, :node => "a\e"} })

      assert_equal({"group\\xFF": '\xFE', node: "a\e"}, @session.send_command(pid, "status"))
    end

    test "an error that has no valid message, and one that isn't a StandardError, are refusals" do
      control(stop: -> { raise "\xFF\n" }, dump: -> { raise NotImplementedError, "no" })

      assert_match(/RuntimeError: .xFF.n/, assert_raises(CLI::Usage) { @session.send_command(pid, "stop") }.message)
      assert_match(/NotImplementedError: no/, assert_raises(CLI::Usage) { @session.send_command(pid, "dump") }.message)
    end

    test "silent clients, even more than the maximum, delay no command" do
      control(status: -> { 7 })
      silent = Array.new(600) { UNIXSocket.new(@control.path) }

      assert_equal 7, @session.send_command(pid, "status")
    ensure
      silent&.each(&:close)
    end

    test "a command may have a long answer that isn't only ASCII" do
      control(status: -> { {nodes: ["größe"] * 50_000} })

      assert_equal 50_000, @session.send_command(pid, "status")[:nodes].count("größe")
    end

    test "a process that doesn't answer, or whose answer is endless, is an error after a timeout" do
      Dir.mkdir(Server::Control.folder({"PENSTOCK_RUN_DIR" => @dir}), 0o700)
      server = UNIXServer.new(File.join(Server::Control.folder({"PENSTOCK_RUN_DIR" => @dir}), "#{pid}.sock"))
      session = CLI::Control::Session.new({"PENSTOCK_RUN_DIR" => @dir}, answer_ms: 100)

      assert_match(/process #{pid} doesn't answer: timed out after 0.1 s/,
        assert_raises(CLI::Usage) { session.send_command(pid, "status") }.message)
      dripping = Thread.new { drip(server) }
      assert_match(/doesn't answer/, assert_raises(CLI::Usage) { session.send_command(pid, "status") }.message)
    ensure
      server&.close
      dripping&.kill&.join
    end

    # A byte now and then, forever.
    def drip(server)
      accepted = Array.new(2) { server.accept } # the first belongs to the request above
      loop { accepted.last.write("a") && observe_for(0.02) }
    rescue Errno::EPIPE
      nil
    ensure
      accepted&.each(&:close)
    end

    test "the socket of a dead process is deleted; no process, and the wrong one, are reported" do
      path = control.path
      @control.forget
      wait_until(20) { @threads.living.empty? }

      assert_empty @session.running
      refute File.exist?(path)
      assert_match(/no server or swarm of this user runs here/, assert_raises(CLI::Usage) { @session.one(nil) }.message)
      assert_match(/process id 1: there is none/, assert_raises(CLI::Usage) { @session.one(1) }.message)
    end
  end
end
