# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require_relative "cluster/agent"
require_relative "cluster/fault_proxy"
require_relative "cluster/known_process"
require_relative "cluster/leaders"
require_relative "cluster/node"
require_relative "cluster/state"
require_relative "cluster/tools"
require_relative "wait"

module Penstock
  module TestSupport
    # Three real brokers (replication 3, two in sync) from the jars of KAFKA_HOME, with a fault proxy in front of each,
    # and Kafka's own admin client to inspect them. One that a test run makes never outlives the run: a watchdog kills
    # what is left when the run has ended. One that `bin/kafka start --brokers 3` makes stays until `bin/kafka stop`.
    # Any thread may use it.
    class KafkaCluster
      include Wait
      include ClusterLeaders

      ROOT = File.expand_path("../../tmp", __dir__)
      MARK = "PENSTOCK_TEST_CLUSTER"

      class Error < StandardError; end

      # @return [FaultProxy]
      attr_reader :proxy
      # @return [Hash{Integer => ClusterNode}]
      attr_reader :nodes
      # @return [String] folder of data and logs
      attr_reader :folder

      # @return [String, nil] KAFKA_HOME, or the folder next to the repository
      def self.home
        beside = File.expand_path("../../../shared/kafka", __dir__)
        given = ENV.fetch("KAFKA_HOME", File.directory?(beside) ? beside : "")
        given unless given.empty?
      end

      # @return [String, nil] why no cluster can run here
      def self.obstacle(home = self.home) = ClusterTools.obstacle(home)

      # @param name [String] of its folder below tmp
      # @return [KafkaCluster, nil] one that another process has started
      def self.attach(name = "cluster")
        state = ClusterState.load(File.join(ROOT, "kafka-#{name}"))
        new(name: name, state: state) if state
      end

      # @param name [String] of its folder below tmp
      # @param brokers [Integer]
      # @param owned [Boolean] whether it ends with this process
      # @param extra [Hash{String => Object}] properties of all brokers
      def initialize(name: "run-#{::Process.pid}", brokers: 3, home: self.class.home, owned: true, extra: {}, state: nil)
        @folder = File.join(ROOT, "kafka-#{name}")
        @mark = "#{@folder}-#{::Process.pid}"
        @extra = extra
        @owned = owned && state.nil?
        @state = state || ClusterState.load(@folder) || ClusterState.create(@folder, brokers, home)
        @home = @state.values.fetch(:home)
        @nodes = @state.values.fetch(:nodes).to_h { |id, values| [Integer(id.name), node(Integer(id.name), values)] }
        @proxy = FaultProxy.new(control_port: @state.values.fetch(:control_port), log: File.join(@folder, "proxy.log"), env: env,
          links: @nodes.transform_values { |node| node.ports.values_at(:public, :client) })
        @proxy.process = @state.process(:proxy)
        @lock = Monitor.new
      end

      # For the environment of processes that are to end together with this cluster.
      # @return [Hash{String => String}]
      def env = {MARK => @mark}

      # Bootstrap servers for clients: the fault proxies.
      def bootstrap_servers = @nodes.values.map { |node| "127.0.0.1:#{node.ports.fetch(:public)}" }.join(",")

      # The brokers themselves, for a check that must not go through the proxies.
      def direct_servers = @nodes.values.map { |node| "127.0.0.1:#{node.ports.fetch(:internal)}" }.join(",")

      # Starts everything, and returns when every broker knows the others.
      def start
        obstacle = self.class.obstacle(@home)
        raise Error, "Kafka can't be started: #{obstacle}" if obstacle

        FileUtils.mkdir_p(@folder)
        watch if @owned
        @nodes.each_value { |node| prepare(node) }
        start_proxy unless @proxy.process&.alive?
        down = @nodes.values.reject(&:alive?)
        down.each { |node| launch(node) }
        agent if @owned
        down.each(&:await)
        await_healthy if @owned
        self
      end

      # Starts a broker again; returns when it answers.
      def start_node(id)
        launch(nodes.fetch(id)).await
      end

      # Stops a broker in order: its leaders move first.
      def stop_node(id) = nodes.fetch(id).stop

      # Kills a broker with SIGKILL. Its port may accept connections for some ms after that; the proxy must not take
      # them for a broker that has started again.
      def kill(id)
        nodes.fetch(id).kill
        wait_until(10, "end of broker #{id}'s listener") { ServerPorts.free?(nodes.fetch(id).ports.fetch(:client)) }
        proxy.link(id, mode: :waiting)
      end

      def freeze_node(id) = nodes.fetch(id).suspend
      def thaw(id) = nodes.fetch(id).resume

      # Restarts a broker in order; returns when it answers again.
      def restart(id)
        stop_node(id)
        start_node(id)
      end

      # Returns when all brokers run, all replicas are in sync, no fault is set, and leaders are where they were placed
      # at first.
      def heal(seconds = 90)
        proxy.clear
        nodes.each_key { |id| thaw(id) }
        nodes.values.reject(&:alive?).each { |node| launch(node) }.each(&:await)
        await_healthy(seconds)
        elect_again(seconds)
        self
      end

      def await_healthy(seconds = 90)
        seen = nil
        wait_until(seconds, "a healthy cluster", state: -> { seen }, every: 0.1) do
          seen = [agent.call(:cluster).fetch("brokers").sort, agent.call(:lagging)]
          seen == [nodes.keys.sort, 0]
        rescue ClusterAgent::Error => error
          seen = error.message
          false
        end
      end

      # @return [ClusterAgent] started when it is first needed
      def agent
        @lock.synchronize do
          @agent ||= ClusterAgent.new(home: @home, servers: direct_servers, log: File.join(@folder, "agent.log"), env: env)
        end
      end

      # @return [Hash{Integer => Symbol}] :running, :frozen or :down
      def states = nodes.transform_values(&:state)

      # Detaches from the cluster without ending it.
      def detach
        @lock.synchronize { @agent = @agent&.close }
        proxy.disconnect
      end

      # Ends everything, also processes that were given {#env}.
      # @param keep [Boolean] whether data and logs stay
      def close(keep: false)
        @lock.synchronize { @agent = @agent&.close }
        nodes.each_value { |node| node.process&.kill }
        proxy.stop
        KnownProcess.marked("#{MARK}=#{@mark}").each(&:kill)
        @watchdog&.end_within(5)
        FileUtils.rm_rf(@folder) unless keep
        self
      end

      private

      # Controllers that have just started may not answer in time.
      def elect_again(seconds)
        error = nil
        wait_until(seconds, "the election of leaders", state: -> { error }, every: 0.5) do
          agent.call(:elect)
          true
        rescue ClusterAgent::Error => error
          false
        end
      end

      def node(id, values)
        ClusterNode.new(id: id, ports: values.fetch(:ports), folder: File.join(@folder, "node-#{id}"), home: @home, env: env)
          .tap { |made| made.process = @state.process(:nodes, id.to_s.to_sym, :process) }
      end

      def prepare(node)
        voters = nodes.transform_values { |one| one.ports.fetch(:controller) }
        node.prepare(@state.values.fetch(:cluster_id), voters, @extra)
      end

      def launch(node)
        node.start
        note(node.process, :nodes, node.id.to_s.to_sym, :process)
        node
      end

      def start_proxy
        proxy.start
        note(proxy.process, :proxy)
      end

      def note(process, *path, last)
        @lock.synchronize do
          (path.empty? ? @state.values : @state.values.dig(*path))[last] = [process.pid, process.started]
          @state.save
        end
      end

      def watch
        own = KnownProcess.new(::Process.pid)
        @watchdog ||= KnownProcess.new(::Process.spawn(RbConfig.ruby, "--disable-gems", File.join(__dir__, "cluster/watchdog.rb"),
          own.pid.to_s, own.started, "#{MARK}=#{@mark}", :in => File::NULL, %i[out err] => File::NULL, :pgroup => true))
      end
    end
  end
end
