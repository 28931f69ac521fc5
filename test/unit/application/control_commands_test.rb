# frozen_string_literal: true

require "test_helper"
require "penstock/application"
require "penstock/application/control_commands"
require "penstock/server/control"
require "penstock/server/execution_mode"
require "penstock/server/lifecycle"

module Penstock
  # The commands that `penstock status`, `stop` and the like send to a process.
  class ControlCommandsTest < TestCase
    Config = Struct.new(:client_id)

    # Remembers its calls. Each returns something, which must not reach the command line.
    App = Struct.new(:mode, :calls) do
      %i[quiet! dump! restart!].each { |name| define_method(name) { calls << name } }

      def lifecycle = @lifecycle ||= Server::Lifecycle.new
      def done? = lifecycle.done?
      def execution_mode = Server::ExecutionMode.new(mode)
      def close_breakers! = [{cause: "KeyError"}]
      def config = Config.new("orders")
      def vitals = {state: "running", live: true}
    end

    def commands(mode = :standalone)
      @application = App.new(mode, [])
      Application::ControlCommands.new(@application, stop: -> { @application.calls << :stop }).to_h
    end

    test "quiet, stop, dump and restart are carried out and answer nothing" do
      found = commands(:supervisor)
      assert_equal [nil] * 4, %w[quiet stop dump restart].map { |name| found.fetch(name).call }
      assert_equal %i[quiet! stop dump! restart!], @application.calls
    end

    test "a swarm that is quiet or stops refuses a restart, which would have no effect" do
      %i[quieting quiet stopping].each do |state|
        restart = commands(:supervisor).fetch("restart")
        @application.lifecycle.enter(state)
        error = assert_raises(Server::Control::Refused) { restart.call }

        assert_equal "it replaces no nodes any more: the swarm is #{state}", error.message
        assert_empty @application.calls
      end
    end

    test "only a supervisor has nodes to restart" do
      %i[standalone embedded swarm].each { |mode| refute_includes commands(mode), "restart" }
    end

    test "the status has the process, what it is, and its vitals" do
      assert_equal({pid: ::Process.pid, kind: "server", client_id: "orders", state: "running", live: true},
        commands.fetch("status").call.except(:root, :folder))
      assert_equal Server::Place.of.to_h, commands.fetch("status").call.slice(:root, :folder)
      assert_equal "swarm", commands(:supervisor).fetch("status").call[:kind]
      assert_equal "server", commands(:swarm).fetch("status").call[:kind], "a node"
    end

    test "closing breakers answers with those that were open" do
      assert_equal [{cause: "KeyError"}], commands.fetch("breaker close").call
    end
  end
end
