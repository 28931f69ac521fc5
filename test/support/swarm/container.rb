# frozen_string_literal: true

# A supervisor with nodes without Kafka that follow the plan: forked, from a mold, or threads of one process.

require "logger"
require "penstock"
require "penstock/clock"
require "penstock/config/builder"
require "penstock/instrumentation/monitor"
require "penstock/server/health"
require "penstock/server/lifecycle"
require "penstock/swarm/mold_node_spawner"
require "penstock/swarm/supervisor"
require_relative "../planned"
require_relative "threaded_node_spawner"

module SwarmContainer
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_SWARM_TEST")
  JOURNAL = journal(PLAN.fetch(:journal))
  SPAWNERS = {forked: Penstock::Swarm::NodeSpawner, mold: Penstock::Swarm::MoldNodeSpawner,
              threads: Penstock::TestSupport::SwarmRun::ThreadedNodeSpawner}.freeze

  # A policy that soon kills nodes that are late.
  class Hasty < Penstock::Swarm::Policy
    def node_shutdown_timeout = PLAN.fetch(:patience, 30_000)
  end

  # The parts of an application that a supervisor and its nodes need.
  class Application
    attr_reader :config, :monitor, :lifecycle, :logger, :health

    def initialize
      @config = Penstock::Config::Builder.new.tap { |builder| configure(builder) }.settings
      @monitor = Penstock::Instrumentation::Monitor.new
      @lifecycle = Penstock::Server::Lifecycle.new
      @logger = Logger.new($stdout)
      %w[stopping terminating node_ended held_down].each do |word|
        @monitor.subscribe("swarm.manager.#{word}") { |event| SwarmContainer.write(word, event[:node], event[:reason]) }
      end
      @monitor.subscribe("error.occurred") { |event| @logger.error(event[:error].full_message) }
    end

    def server_id = "container"
    def eager_load = nil
    def become_mold = nil
    def become_node(index) = @index = index
    def orphaned! = exit!(3)

    # @return [Integer] exit code
    def run_as_node(signals)
      SwarmContainer.write("began", @index)
      what = behaviour
      return 9 if what == "dies"
      @health = healthy unless what == "silent"
      nil until ending?(signals.wait, what)
      SwarmContainer.write("told", @index)
      Integer(what, exception: false) || 0
    end

    private

    def configure(builder)
      builder.record do |config|
        {nodes: 2, supervision_interval: 500, **PLAN.fetch(:swarm, {})}.each do |name, value|
          config.swarm.public_send(:"#{name}=", value)
        end
      end
    end

    # One entry for each time the node is spawned; the last one for all later times.
    def behaviour
      plan = PLAN.fetch(:behaviour, {})[:"#{@index}"] || ["obeys"]
      count = File.readlines(PLAN.fetch(:journal)).count("began #{@index}\n")
      plan[count - 1] || plan.last
    end

    def ending?(signal, what)
      return signal == "TSTP" if what == "tired"
      signal == "TERM" && %w[silent stubborn].none?(what)
    end

    def healthy
      loops = [Penstock::Server::Health::Loop.new("app_0", true, 2, 5)]
      Penstock::Server::Health.new(:running, loops, 1, 1_000)
    end
  end
end

SwarmContainer.end_with_test
application = SwarmContainer::Application.new
application.lifecycle.enter(:supervising)
policy = SwarmContainer::Hasty.new(application.config.swarm, 0)
supervisor = Penstock::Swarm::Supervisor.new(application, clock: Penstock::Clock::SYSTEM, policy: policy,
  spawner: SwarmContainer::SPAWNERS.fetch(SwarmContainer::PLAN.fetch(:spawner).to_sym))
application.monitor.subscribe("process.notice_signal") { SwarmContainer.write("noticed") }
Thread.new do
  sleep(0.01) until supervisor.vitals[:ready]
  SwarmContainer.write("ready")
end
exit!(supervisor.run)
