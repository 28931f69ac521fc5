# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/control/session"
require "support/commands"

module Penstock
  # The commands that send an order to a running process, and `penstock swarm --report`, which asks all of them.
  class ControlCommandTest < TestCase
    include TestSupport::Commands

    # Processes that run here, and what they answer.
    Session = Struct.new(:answer, :statuses, :asked) do
      def one(pid) = pid || 7

      def send_command(pid, command)
        self.asked = [pid, command]
        answer
      end
    end

    def order(*argv, answer: nil, statuses: [])
      @session = Session.new(answer, statuses)
      replacing(CLI::Control::Session, @session) { penstock(*argv) }
    end

    test "an order goes to the only process, or to that of --pid, and is confirmed with its number" do
      {"quiet" => "process 7 takes no new work", "stop" => nil, "restart" => nil, "dump" => nil}.each do |name, text|
        found = order(name)
        assert_equal [[7, name], 0], [@session.asked, found.code], found.err
        text ? assert_equal("#{text}\n", found.out) : assert_includes(found.out, "7")
        order(name, "--pid", "9")
        assert_equal [9, name], @session.asked
      end
    end

    test "breaker close names each topic that is released, or that there is none, or that nodes are asked" do
      open = [{topics: %w[orders clicks], cause: "Timeout::Error"}]
      assert_equal "process 7 releases orders, clicks, held for Timeout::Error\n", order("breaker", "close", answer: open).out
      assert_equal "process 7 has no open breaker\n", order("breaker", "close", answer: []).out
      assert_equal "process 7 is asking its nodes to close their breakers\n", order("breaker", "close").out
    end

    test "the report of swarms leaves out servers, and fails where there is no swarm or a process can't be read" do
      none = order("swarm", "--report", statuses: [{kind: "server", pid: 1}])
      assert_match(/no swarm of this user runs here/, none.err)
      own = {kind: "swarm", pid: ::Process.pid, nodes: []}
      assert_equal 0, order("swarm", "--report", statuses: [own]).code
      assert_equal ["supervisor"], JSON.parse(order("swarm", "--report", "--json", statuses: [own]).out).flatten.map { |row|
        row["process"]
      }
      gone = order("swarm", "--report", statuses: [{**own, nodes: [{node: 0, pid: 2**22 + 1}]}])
      assert_equal 1, gone.code
      assert_match(/node 0: its memory can't be read/, gone.out)
    end
  end
end
