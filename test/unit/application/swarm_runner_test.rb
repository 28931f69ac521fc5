# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock/application"

module Penstock
  # The runner up to its supervisor, which forks nothing here: the test provides the block that would run it.
  class SwarmRunnerTest < TestCase
    def setup
      super
      @stopped = false
      @application = Application.new("swarm") do |config|
        config.logger = Logger.new(nil)
        config.swarm.nodes = 2
      end
      @consumed = ->(_filters, _node) { [:group] }
      @runner = Application::SwarmRunner.new(@application, consumed: ->(*arguments) { @consumed.call(*arguments) },
        stopped: -> { @stopped })
    end

    # A run whose supervisor ends as if it had supervised.
    def run_with(filters)
      @runner.run(filters) do |supervisor|
        yield supervisor
      ensure
        supervisor.__send__(:close)
      end
    end

    test "a run goes through the states of a supervisor and returns the block's exit code" do
      states = []
      code = run_with(:filters) do |supervisor|
        states << @application.lifecycle.state << supervisor.equal?(@runner.supervisor) << @runner.nodes.size
        7
      end

      assert_equal [7, :terminated, [:supervising, true, 2], :filters],
        [code, @application.lifecycle.state, states, @runner.filters]
    end

    test "a node without topics is a configuration error that names it" do
      @consumed = ->(_filters, node) { node.zero? ? [:group] : [] }
      error = assert_raises(ConfigurationError) { run_with(nil) { flunk } }

      assert_match(/No topics to subscribe to for node 1 of the swarm/, error.message)
      assert_nil @runner.supervisor
    end

    test "a node forgets the supervisor and keeps the filters" do
      run_with(:filters) { 0 }
      @runner.forget_supervisor

      assert_equal [nil, [], :filters], [@runner.supervisor, @runner.nodes, @runner.filters]
    end
  end
end
