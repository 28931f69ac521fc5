# frozen_string_literal: true

require "logger"
require "monitor"
require_relative "application/doors"
require_relative "application/former_variables"
require_relative "application/molding"
require_relative "application/producing"
require_relative "application/service"
require_relative "application/swarming"
require_relative "clock"
require_relative "config/builder"
require_relative "config/kafka_map"
require_relative "config/validator"
require_relative "errors"
require_relative "execution/middleware"
require_relative "instrumentation/logger_listener"
require_relative "instrumentation/monitor"
require_relative "instrumentation/statistics"
require_relative "instrumentation/token_provider"
require_relative "native"
require_relative "process/lifecycle"
require_relative "process/server"
require_relative "process/signals"
require_relative "routing/builder"
require_relative "runtime/commit_codec"
require_relative "runtime/connector"
require_relative "runtime/host"
require_relative "runtime/multiplexer"
require_relative "runtime/poll_loop"

module Penstock
  # One application: its settings, routes, monitor and producer, and the way to run it. The composition root: the only place
  # that puts everything together; nothing below knows that there is an application.
  #
  # Built at boot by one thread. {#run!} blocks the thread that calls it until the process is told to stop.
  class Application
    include Doors
    include Molding
    include Producing
    include Service
    include Swarming

    # @return [String]
    attr_reader :name

    # @return [ServerProcess::Lifecycle]
    attr_reader :lifecycle

    # @param name [String] for messages
    # @yieldparam config [Config::Section] settings, as in {#setup}
    def initialize(name = "application", &block)
      @name = name
      @builder = Config::Builder.new
      @routes_builder = Routing::Builder.new
      @lifecycle = ServerProcess::Lifecycle.new(->(state) { announce(state) })
      @middleware = Execution::Middleware.new
      @lock = ::Monitor.new
      setup(&block) if block
    end

    # Records settings; may be called several times, later values win. Everything is checked before anything starts.
    # @yieldparam config [Config::Section]
    # @return [self]
    def setup(&block)
      @builder.record(&block)
      @settings = @routes = @producer_checked = nil
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
    def routes = @lock.synchronize { @routes ||= @routes_builder.routes(config) }

    # @return [Instrumentation::Monitor]
    def monitor = @lock.synchronize { @monitor ||= config.monitor || Instrumentation::Monitor.new }

    # @return [Logger]
    def logger = @lock.synchronize { @logger ||= config.logger || default_logger }

    # A producer with the application's settings that isn't the application's. Who asks for it closes it.
    # @yieldparam config [Producer::Settings] what has the last word
    # @return [Producer]
    # @api private
    def separate_producer(&) = build_producer(&)

    # Changes what is put around every call of user code, see {Execution::Middleware}; before {#run!}.
    # @return [Execution::Middleware]
    def middleware(&block)
      return @middleware unless block
      raise ConfigurationError, "the application runs already: say its middleware before run!" if @server
      @middleware.change(&block)
    end

    # Turns on debug lines of ours and of librdkafka, for consumers and the producer; before {#run!}.
    # @param contexts [String] librdkafka's `debug` property: "all", or names separated by commas
    # @return [self]
    def debug!(contexts = "all")
      @debug = {"debug" => contexts.to_s}.freeze
      logger.level = ::Logger::DEBUG
      self
    end

    # Checks settings and routes, and what a block given to `config.producer` says: not the first message is to find that out.
    # @raise [ConfigurationError] with all problems at once
    # @return [self]
    def validate!
      Config::Validator.check!(config, routes)
      @producer_checked ||= config.producer_blocks.empty? || producer_fits?
      self
    end

    # How commands called on {Admin} go about it.
    # @api private
    def admin_options
      admin = config.admin
      {timeout_ms: admin.max_wait_time, visible_ms: admin.max_retries_duration, pause_ms: admin.retry_backoff,
       token_provider: config.oauth.token_provider_listener}
    end

    # @param active [Boolean] whether those that aren't consumed are left out
    # @return [Hash{String => Array<String>}] names of topics by group, without patterns
    # @api private
    def routed_topics(active:)
      wanted = routes.topics.reject { |topic| topic.pattern? || (active && !topic.active?) }
      wanted.group_by(&:consumer_group_id).transform_values { |topics| topics.map(&:name) }
    end

    # Runs until a signal or {#stop!} stops it.
    # @param filters [#take?, nil] which routed topics this process consumes
    # @param traps [Boolean] whether to handle signals
    # @param signals [ServerProcess::Signals]
    # @param boot_file [String, nil] what defines the application, for processes of `run_on :processes` when this isn't the main
    #   thread; found as the command line finds it where it isn't said
    # @param mold [Execution::Processes::MoldHandle, nil] from which they are forked then, if it is there already
    # @return [Integer] exit code
    # @raise [ConfigurationError]
    def run!(filters: nil, traps: true, signals: ServerProcess::Signals.new, boot_file: nil, mold: nil)
      Molding.refuse_to_run
      @signals = signals
      @mold = mold
      validate!
      log_by_default
      FormerVariables.warn_of(ENV, logger) unless node
      faults
      ask_for_tokens
      @lifecycle.enter(:initialized)
      groups = consumed(filters)
      raise ConfigurationError.new([Problem.new("routes", "No topics to subscribe to")]) if groups.empty?
      letter_topics(groups)
      @mold ||= spawned_mold(filters: filters, boot_file: boot_file) unless Thread.current == Thread.main
      server(groups)
      @server.stop! if @stopped
      ServerProcess::Compiler.switch_on if config.yjit && (traps || node)
      with_doors do
        tell_service_manager if traps
        @server.run(traps: traps)
      end
    ensure
      @mold&.close
    end

    # No new work; the process stays in its groups. Any thread, traps included.
    def quiet! = (@supervisor || @server)&.quiet!

    # Stops in order. Any thread, traps included; {#run!} then returns, at once if it has not begun. Said again it changes
    # nothing, for code that says it in each of its calls mustn't end the process; signals and `penstock stop` hurry a stop.
    def stop! = (@stopped || stopping? || stopped? || terminated?) ? nil : told_to_stop

    # @return [Hash{Routing::Topic => Array<Integer>}] partitions this process has now, also those it is about to give back; what
    #   was lost, or read over a connection that is gone, isn't among them. Any thread
    def assignments
      rows = (@server ? @server.assigned : []).group_by { |topic, _partition| routed(topic) }
      rows.transform_values { |pairs| pairs.map(&:last).uniq.sort }
    end

    # @return [Hash{Routing::Topic => Hash{Integer => Integer}}] how often each partition was assigned since {#run!}: one more
    #   each time it comes back. Any thread
    def generations
      rows = (@host ? @host.generations.to_a : []).group_by { |topic, *| routed(topic) }
      rows.transform_values { |triples| triples.to_h { |_topic, partition, count| [partition, count] } }
    end

    # @param topic [Routing::Topic]
    # @param partition [Integer]
    # @return [Integer] how often it was assigned since {#run!}, 0 for never. Any thread
    def generation(topic, partition) = @host ? @host.generations.of(topic, partition) : 0

    # Changes how many worker threads there may be, while the application runs; `config.concurrency` is how many it begins with.
    # More take effect at once. Fewer when what runs has ended: nobody is interrupted. Any thread, but not in a trap.
    # @param workers [Integer] at least 1
    # @return [Integer] how many there could be before
    def scale(workers)
      raise ArgumentError, "workers must be an Integer of at least 1, is #{workers.inspect}" unless
        workers.is_a?(Integer) && workers.positive?
      raise ConfigurationError, "the application doesn't run yet: say config.concurrency" unless @server
      @server.scale(workers)
    end

    # @return [Array<Hash>] what the poll loops hold
    def snapshot = @server ? @server.snapshot : []

    ServerProcess::Lifecycle::STATES.each { |state| define_method(:"#{state}?") { @lifecycle.state == state } }

    # @return [Boolean] whether it is coming to rest or at rest
    def done? = @lifecycle.done?

    # @return [String] this process, in events
    # @api private
    def server_id = @server_id ||= "#{config.client_id}:#{::Process.pid}"

    # @return [String]
    def inspect = "#<Penstock::Application #{@name} #{@lifecycle.state}>"

    private

    def told_to_stop
      @stopped = true
      (@supervisor || @server)&.stop!
    end

    # The topic as {#routes} has it; one that a pattern discovered is in none.
    def routed(topic)
      routes.topics.find { |one| one.id == topic.id } || (@discovered ||= {})[topic.id] ||= topic
    end

    # For tests that kill a process at a named place.
    def faults
      specification = ENV["PENSTOCK_FAULTS"] or return
      require_relative "runtime/faults"
      Runtime::Faults.install(specification)
      logger.warn("PENSTOCK_FAULTS is set: this process is made to fail (#{specification})")
    end

    # An application that listens to nothing still says what goes wrong.
    def log_by_default
      return if monitor.subscribed?("error.occurred")
      monitor.subscribe(Instrumentation::LoggerListener.new(logger))
    end

    # Consumers ask by an event; the producer asks by itself.
    def ask_for_tokens
      listener = config.oauth.token_provider_listener or return
      @token_provider ||= monitor.subscribe(Instrumentation::TokenProvider.new(listener, monitor))
    end

    # Records that die must find their topic.
    def letter_topics(groups)
      topics = groups.flat_map(&:topics).select { |topic| topic.features.values_at(:dead_letter_queue, :retry_topics).any? }
      return if topics.empty?
      require_relative "runtime/letter_topics" # brings the admin client along
      Runtime::LetterTopics.of(config.kafka, logger, token_provider: config.oauth.token_provider_listener || nil).check!(topics)
    end

    def consumed(filters, node = config.node)
      groups = routes.subscription_groups.map do |group|
        group.keep(node) { |topic| wanted?(topic, group, filters, node) }.join(group.consumer_group)
      end
      groups.reject { |group| group.topics.empty? }
    end

    def wanted?(topic, group, filters, node)
      nodes = topic.features[:swarm]
      topic.active? && (filters.nil? || filters.take?(topic, group)) && (nodes.nil? || nodes.take?(node))
    end

    def server(groups)
      @consuming = true
      @host = host = host(groups)
      connect = Runtime::Connector.new(host, method(:properties)).method(:call)
      multiplexer = Runtime::Multiplexer.new(clock: host.clock, reporter: host.reporter,
        make: ->(group) { Runtime::PollLoop.new(group, host, connect) })
      @server = ServerProcess::Server.new(host: host, loops: groups.flat_map { |group| multiplexer.loops(group) },
        lifecycle: @lifecycle, signals: @signals, close_producer: method(:close_producer),
        multiplexer: multiplexer)
    end

    def host(groups)
      Runtime::Host.new(settings: config, monitor: monitor, logger: logger, clock: Clock::SYSTEM,
        codec: Runtime::CommitCodec.new, layers: @middleware.to_a, producer: method(:producer), topics: groups.flat_map(&:topics),
        producer_behind: method(:producer_behind),
        properties: method(:properties), stop: ->(error) { @server.stop!(error) }, home: {**home, mold: @mold})
    end

    def properties(group)
      (@properties ||= {})[group.id] ||= Config::KafkaMap.consumer(config, group).merge(@debug || {})
    end

    # What processes that are forked from this one work with.
    def home = {producer: method(:producer), close_producer: method(:close_producer), adopt: method(:adopt)}

    # Called in such a process: what is told there goes home with what it has done.
    # @param monitor [#instrument]
    def adopt(monitor)
      @monitor = monitor
    end

    # @param heard [Boolean] whether its monitor is one whose errors are told already
    def build_producer(heard: false, &last)
      require_relative "producer" # not at boot: a tenth of the framework, and many applications only consume
      told_of_producer { Producer.new { |own| set_up(own, &last) } }.tap { |producer| tell_errors_of(producer) unless heard }
    end

    def set_up(own, &last)
      own.kafka = Config::KafkaMap.producer(config).merge(@debug || {}).transform_keys(&:to_sym)
      own.logger = logger
      own.oauth.token_provider_listener = config.oauth.token_provider_listener || false
      [*config.producer_blocks, *last].each { |block| block.call(own) }
    end

    # Without making one: who forks would hand it on.
    def producer_fits? = !producer_settings.nil?

    # @return [Producer::Settings] complete
    def producer_settings
      require_relative "producer"
      told_of_producer do
        own = Producer::Settings.new
        set_up(own)
        own.logger = ::Logger.new(nil) # its warnings come when a producer is made
        own.finish!
      end
    end

    def told_of_producer
      yield
    rescue ConfigurationError => error
      raise ConfigurationError, error.problems.map { |problem| of_producer(problem) }
    end

    # What a block says is `config` there too, and isn't the application's.
    def of_producer(problem)
      Problem.new("config.producer, #{problem.path.to_s.delete_prefix("config.")}", problem.message, problem.hint)
    end

    # Its other events stay on its own monitor, as those of every producer.
    def tell_errors_of(producer)
      producer.monitor.subscribe("error.occurred") { |event| monitor.instrument("error.occurred", event.payload) }
    end

    def default_logger
      ::Logger.new($stdout, level: ::Logger::INFO, progname: "penstock")
    end

    def announce(state) = monitor.instrument("app.#{state}", {server_id: server_id})
  end
end
