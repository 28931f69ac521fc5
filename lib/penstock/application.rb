# frozen_string_literal: true

require "monitor"

module Penstock; class Application; end; end # its parts open it, too: see ON_DEMAND
require_relative "application/assigned_partitions"
require_relative "application/control_commands"
require_relative "application/control_endpoints"
require_relative "application/extensions"
require_relative "application/own_producer"
require_relative "application/preflight"
require_relative "application/process_mold"
require_relative "application/producer_factory"
require_relative "application/single_run"
require_relative "application/swarm_runner"
require_relative "application/topic_selection"
require_relative "clock"
require_relative "config/builder"
require_relative "config/kafka_map"
require_relative "config/validator"
require_relative "delays/consumer"
require_relative "delays/scheduler"
require_relative "errors"
require_relative "execution/middleware"
require_relative "instrumentation/log/json_format"
require_relative "instrumentation/safe_logger"
require_relative "native"
require_relative "on_demand"
require_relative "server/execution_mode"
require_relative "server/lifecycle"
require_relative "server/launcher"
require_relative "server/signals"
require_relative "declaratives/builder"
require_relative "routing/builder"
require_relative "runtime/loop/group/commit_codec"
require_relative "runtime/loop/connector"
require_relative "runtime/process_context"
require_relative "runtime/multiplexer"
require_relative "runtime/loop/poll_loop"
Penstock.load_constant "Instrumentation::Monitor", :Process

module Penstock
  # Holds one application: its settings, routes, monitor and producer, and runs it. The composition root: the only class that
  # puts everything together; the layers it uses don't know that there is an application. Its parts are in application/.
  #
  # Built at boot by one thread. {#run!} blocks the thread that calls it until the process is stopped.
  class Application
    prepend SingleRun

    # @return [String]
    attr_reader :name

    # @return [Extensions]
    # @api private
    attr_reader :extensions

    # @return [Server::Lifecycle]
    attr_reader :lifecycle

    # @return [Declaratives::Builder] `declaratives.draw { … }` declares topics
    attr_reader :declaratives

    # @param name [String] for messages
    # @yieldparam config [Config::Section] settings, as in {#setup}
    def initialize(name = "application", &block)
      @name = name
      @builder = Config::Builder.new.record { |config| config.monitor = Instrumentation::Monitor.new }
      @routes_builder = Routing::Builder.new(delay_consumer: Delays::Consumer)
      @declaratives = Declaratives::Builder.new(routed: -> { routes.topics }, drawn: -> { @routes = nil },
        servers: -> { config.kafka[:"bootstrap.servers"] })
      @lifecycle = Server::Lifecycle.new(->(state) { monitor.instrument("app.#{state}", {server_id: server_id}) })
      @middleware = Execution::Middleware.new
      @lock = ::Monitor.new
      @mode = :standalone
      @extensions = Extensions.new(Application.extensions, self)
      put_together
      @extensions.set_up
      setup(&block) if block
    end

    # Records settings; may be called several times, later values win. Everything is validated before anything starts.
    # @yieldparam config [Config::Section]
    # @return [self]
    def setup(&block)
      @builder.record(&block)
      @settings = @routes = @producer_checked = @logger = nil
      self
    end

    # @return [Routing::Builder] `routing.draw { … }` adds routes
    def routing
      @routes = nil
      @routes_builder
    end

    # @return [Config::Settings] frozen; built on first use
    def config = @lock.synchronize { @settings ||= @builder.settings }

    # @return [Routing::Routes] frozen
    def routes = @lock.synchronize { @routes ||= @routes_builder.routes(config, declared: @declaratives.names) }

    # @return [Instrumentation::Monitor]
    def monitor = @lock.synchronize { @monitor ||= @extensions.subscribe(config.monitor || Instrumentation::Monitor.new) }

    # @return [String, nil] what was counted, in Prometheus' text format; nil without `config.metrics`. Any thread
    def metrics = @extensions.metrics.text

    # @return [Logger]
    def logger = @lock.synchronize { @logger ||= formatted(config.logger) }

    # Changes the middleware around every call of user code, see {Execution::Middleware}; before {#run!}.
    # @return [Execution::Middleware]
    def middleware(&block)
      return @middleware unless block
      raise ConfigurationError, "the application runs already: set its middleware before run!" if @server
      @middleware.change(&block)
    end

    # Enables debug lines of Penstock and of librdkafka, for consumers and the producer; before {#run!}.
    # @param contexts [String] librdkafka's `debug` property: "all", or names separated by commas
    # @return [self]
    def debug!(contexts = "all")
      @debug = {"debug" => contexts.to_s}.freeze
      logger.level = ::Logger::DEBUG
      self
    end

    # Validates settings, routes and the block of `config.producer`, so that mistakes there show before the first message.
    # @raise [ConfigurationError] with all problems at once
    # @return [self]
    def validate!
      found = Config::Validator.problems(config, routes) + @declaratives.problems + @extensions.problems
      raise ConfigurationError, found if found.any?
      @producer_checked ||= config.producer_blocks.empty? || !@producer_factory.settings.nil?
      self
    end

    # Closes the producer if it was used in this process.
    # @param timeout_ms [Integer] for messages that aren't delivered yet
    # @api private
    def close_producer(timeout_ms) = @own_producer.close_here(timeout_ms)

    # @return [Producer] connects on first use, is closed with the application; in {Embedded} with the process. A forked child of
    #   a process that has used it gets another. Any thread
    # @raise [ForkedHandleError] that can't be: the child has the same `transactional.id`, or the parent's `config.producer=`
    def producer = @own_producer.get

    # Sends messages that arrive later; the routes need `delay_topics`. Any thread.
    # @return [Delays::Scheduler]
    def delays = @delays ||= Delays::Scheduler.new(tiers: -> { routes.delay_tiers }, producer: method(:producer))

    # A producer with the application's settings that isn't the application's: the caller closes it.
    # @yieldparam config [Producer::Settings] takes precedence over the application's
    # @return [Producer]
    # @api private
    def separate_producer(&) = @producer_factory.build(&)

    # Runs until a signal or {#stop!} stops it.
    # @param filters [#take?, nil] which routed topics this process consumes
    # @param traps [Boolean] whether to handle signals
    # @param signals [Server::Signals]
    # @param boot_file [String, nil] for `run_on :processes` outside of the main thread; by default the command line's
    # @param mold [Execution::Processes::MoldHandle, nil] the process from which they are forked, if it exists already
    # @param keep_producer [Boolean] whether the producer stays open at the end, until the process ends
    # @return [Integer] exit code
    # @raise [ConfigurationError]
    def run!(filters: nil, traps: true, signals: Server::Signals.new, boot_file: nil, mold: nil, keep_producer: false)
      ProcessMold.refuse_to_run
      @signals, @mold, @keep_producer = signals, mold, keep_producer
      @mode = node ? :swarm : :embedded unless traps
      validate!
      @extensions.prepare_to_run unless node
      @preflight.warn_of_settings unless node
      @preflight.install_faults
      @preflight.subscribe_token_provider
      @lifecycle.enter(:initialized)
      groups = consumed(filters)
      raise ConfigurationError.new([routes.nothing_to_consume]) if groups.empty?
      @preflight.check_group_protocol(groups, method(:properties))
      @preflight.check_topics(groups)
      @mold ||= spawned_mold(filters: filters, boot_file: boot_file) unless Thread.current == Thread.main
      server(groups)
      @server.stop! if @stopped
      Server::Compiler.switch_on if config.yjit && (traps || node)
      @endpoints.open(notify: traps) { @server.run(traps: traps) }
    ensure
      @mold&.close
    end

    # Runs as a swarm: forks `config.swarm.nodes` nodes, supervises them until a signal or {#stop!}. Call it on the main thread.
    # @param filters [#take?, nil] which routed topics the nodes consume
    # @return [Integer] exit code
    # @raise [ConfigurationError]
    def swarm!(filters: nil)
      ProcessMold.refuse_to_run
      validate!
      @extensions.prepare_to_run
      @preflight.warn_of_settings
      @swarm.run(filters) { |supervisor| @endpoints.open(notify: true) { supervisor.run } }
    end

    # Lets the command line (`penstock status`, `stop`…) control this application once it runs.
    # @return [self]
    def controllable!
      @endpoints.enable_control_socket
      self
    end

    # Takes no new work; the process stays in its groups. Any thread, traps included.
    def quiet! = running_part&.quiet!

    # Replaces the nodes of a swarm, one after another. In the supervisor, any thread; does nothing in other processes.
    def restart! = @swarm.supervisor&.restart!

    # Writes what the threads of the process, and of all its nodes, do to the log. Any thread.
    def dump! = running_part&.dump!

    # Ends the holds of all open breakers, in a supervisor those of its nodes: records are retried and dead-lettered as usual.
    # @return [Array<Hash>, nil] the breakers that were open; nil in a supervisor, which doesn't know those of its nodes
    def close_breakers! = health&.breakers.tap { running_part&.close_breakers! }

    # Stops in order. Any thread, traps included; {#run!} then returns, at once if it has not begun. Further calls have no
    # effect: code may call it for each batch, which mustn't kill the process. Signals and `penstock stop` do hurry a stop.
    def stop! = (@stopped || stopping? || stopped? || terminated?) ? nil : begin_stop

    # Changes how many worker threads there may be, while the application runs; `config.concurrency` is the initial number.
    # An increase takes effect at once, a decrease when running units have ended: none is interrupted. Any thread, not in a trap.
    # @param workers [Integer] at least 1
    # @return [Integer] the previous number
    def scale(workers)
      raise ConfigurationError, "the application doesn't run yet: set config.concurrency" unless @server
      @server.workers.scale(workers)
    end

    # @return [Server::Workers, nil] the workers, their number and a `scale`; nil before it runs. Any thread
    def workers = @server&.workers

    # @return [Server::ExecutionMode] :standalone, :embedded, :supervisor or :swarm, comparable with Symbols and Strings
    def execution_mode = Server::ExecutionMode.new(@swarm.supervisor ? :supervisor : @mode)

    # @return [Hash{Routing::Topic => Array<Integer>}] partitions this process has now, also those about to be revoked, but not
    #   lost ones or those of a connection that is gone. Any thread
    def assignments = @partitions.by_topic(@server ? @server.assigned : [])

    # @return [Hash{Routing::Topic => Hash{Integer => Integer}}] how often each partition was assigned since {#run!}: one more
    #   each time it comes back. Any thread
    def generations = @partitions.counts_by_topic(@host ? @host.generations.to_a : [])

    # @param topic [Routing::Topic]
    # @param partition [Integer]
    # @return [Integer] how often it was assigned since {#run!}, 0 for never. Any thread
    def generation(topic, partition) = @host ? @host.generations.of(topic, partition) : 0

    # @return [Server::Health, nil] the health of this process; nil before it runs, and in a supervisor. Any thread
    def health = @server&.health

    # The health of the process, in one Hash with `:live` and `:ready`; in a supervisor that of all its nodes. Any thread.
    # @return [Hash]
    def vitals
      found = @swarm.supervisor ? @swarm.supervisor.vitals : health&.to_h
      tags = Process.tags.to_a
      {state: @lifecycle.state.to_s, live: true, ready: false, **found.to_h, **(tags.any? ? {tags: tags} : {})}
    end

    # @return [Array<Hash>] the nodes, in their supervisor: number, state, process id, last report; else empty. Any thread
    def nodes = @swarm.nodes

    # @return [Integer, nil] which node of a swarm this process is
    def node = config.node

    # @return [Array<Hash>] the state of the poll loops
    def snapshot = @server ? @server.snapshot : []

    Server::Lifecycle::STATES.each { |state| define_method(:"#{state}?") { @lifecycle.state == state } }

    # @return [Boolean] whether it is quieting or quiet, stopping or stopped
    def done? = @lifecycle.done?

    # @return [String] identifies this process in events
    # @api private
    def server_id = @server_id ||= "#{config.client_id}:#{::Process.pid}"

    # Spawns the process that others are forked from, if a route uses processes and the application isn't on the main thread.
    # @param filters [#take?, nil] which routed topics this process consumes
    # @param boot_file [String, nil]
    # @return [Execution::Processes::MoldHandle, nil]
    # @raise [ConfigurationError] there is no boot file, it can't be loaded, or its routes differ
    # @api private
    def spawned_mold(filters: nil, boot_file: nil)
      mold = process_mold(filters)
      return unless mold.needed?
      @extensions.log_errors_by_default # its listeners' events are sent from there
      mold.spawn(boot_file: boot_file)
    end

    # Called in the process that others are forked from, on the application that was loaded there.
    # @param order [Hash{Symbol => Object}] see {ProcessMold#child_context}
    # @return [Execution::Processes::ChildContext]
    # @raise [ConfigurationError] the routes differ
    # @api private
    def mold_context(order) = process_mold.child_context(order, critical: config.critical_errors, child_setup: child_setup)

    # Loads what `require "penstock"` loads on first use, before nodes are forked; except for embedding, tests, optional gems.
    # @api private
    def eager_load = Penstock.load_on_demand(except: %i[ActiveJob Embedded Lint])

    # Called in a mold, before anything else.
    # @api private
    def become_mold
      @endpoints.forget
      @swarm.forget_supervisor
    end

    # Called in a node, before anything else.
    # @param index [Integer]
    # @api private
    def become_node(index)
      become_mold
      @server_id = nil
      @stopped = false # the supervisor's stop comes as a signal
      @settings = config.for_node(index)
      logger.progname = "penstock node #{index}" if config.default_logger?
      @own_producer.reconfigure
      @extensions.metrics.become_node(index)
    end

    # Called in a node.
    # @param signals [Swarm::NodeSignals] installed
    # @return [Integer] exit code
    # @api private
    def run_as_node(signals) = run!(filters: @swarm.filters, traps: false, signals: signals)

    # Called in a node whose supervisor is gone. Any thread.
    # @api private
    def orphaned! = @server ? @server.orphaned! : exit!(Server::ExitCodes::ORPHANED)

    # @return [String]
    def inspect = "#<Penstock::Application #{@name} #{@lifecycle.state}>"

    private

    # Creates the parts of the application. Settings are built on first use, so they are passed as methods to call.
    def put_together
      @endpoints = ControlEndpoints.new(config: method(:config), vitals: method(:vitals), commands: method(:commands),
        log: method(:log), monitor: method(:monitor), metrics: method(:metrics))
      @producer_factory = ProducerFactory.new(config: method(:config), logger: method(:logger), monitor: method(:monitor),
        debug: -> { @debug }, extensions: @extensions)
      @own_producer = OwnProducer.new(config: method(:config), monitor: method(:monitor), factory: @producer_factory,
        lifecycle: @lifecycle)
      @preflight = Preflight.new(config: method(:config), log: method(:log), monitor: method(:monitor))
      @partitions = AssignedPartitions.new(method(:routes))
      @swarm = SwarmRunner.new(self, consumed: method(:consumed), stopped: -> { @stopped })
    end

    def running_part = @swarm.supervisor || @server # receives quiet, dump and stop
    def commands = ControlCommands.new(self, stop: method(:begin_stop)).to_h

    def begin_stop
      @stopped = true
      running_part&.stop!
    end

    def process_mold(filters = nil)
      ProcessMold.new(name: name, routes: routes, middleware: @middleware, monitor: monitor,
        topics: consumed(filters).flat_map(&:topics))
    end

    def server(groups)
      @own_producer.consuming(stays: @keep_producer)
      @host = host = host(groups)
      connect = Runtime::Connector.new(host, method(:properties)).method(:call)
      multiplexer = Runtime::Multiplexer.new(clock: host.clock, reporter: host.reporter,
        make: ->(group) { Runtime::PollLoop.new(group, host, connect) })
      @server = Server::Launcher.new(host: host, loops: groups.flat_map { |group| multiplexer.loops(group) },
        lifecycle: @lifecycle, signals: @signals, close_producer: @own_producer.method(:finish), multiplexer: multiplexer)
    end

    def host(groups)
      Runtime::ProcessContext.new(settings: config, monitor: monitor, logger: log, clock: Clock::SYSTEM,
        codec: Runtime::CommitCodec.new, middleware: @middleware.to_stack, topics: groups.flat_map(&:topics),
        producer: method(:producer), producer_replacement: @own_producer.method(:replacement),
        properties: method(:properties), stop: ->(error) { @server.stop!(error) }, child_setup: {**child_setup, mold: @mold})
    end

    def properties(group) = (@properties ||= {})[group.id] ||= Config::KafkaMap.consumer(config, group).merge(@debug || {})

    def consumed(filters, node = config.node) = TopicSelection.new(routes).groups(filters, node)

    # The parts of the application that processes forked from this one inherit.
    def child_setup
      {producer: method(:producer), close_producer: @own_producer.method(:close), adopt: method(:adopt)}
    end

    # Called in such a process: its events are sent to this one with its results, where `app.initialized` has been published.
    def adopt(monitor) = (@monitor = monitor).tap { @lifecycle.skip_to(:initialized) }

    def log = Instrumentation::SafeLogger.of(logger) # for Penstock's own lines
    def formatted(logger) = (config.log_format == "json") ? Instrumentation::Log::JsonFormat.use(logger) : logger
  end
end
