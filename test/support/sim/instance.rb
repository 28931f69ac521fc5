# frozen_string_literal: true

require "logger"
require "penstock/deadline"
require "penstock/execution/middleware_stack"
require "penstock/instrumentation/monitor"
require "penstock/testing/memory/host"
require "penstock/testing/memory/instance"
require_relative "connection"
require_relative "hopping"
require_relative "letters"
require_relative "pool"
require_relative "pools/fibers"
require_relative "pools/processes"
require_relative "producers"

module Penstock
  module TestSupport
    module Sim
      # One life of one simulated process, which may also be frozen by the system for a while.
      class Instance < Testing::Memory::Instance
        MONITOR = Instrumentation::Monitor.new
        MONITOR.subscribe("error.occurred") do |event| # on workers; what the loops emit goes through {Reporter}
          World.current&.then { |world| world.checker.event(world.running&.instance, "error.occurred", event.payload) }
        end
        LOGGER = Logger.new(nil)
        private_constant :LOGGER

        # Everything is real except the threads.
        class Host < Testing::Memory::Host
          def initialize(instance, application)
            super(instance,
              settings: application.settings, monitor: MONITOR, logger: LOGGER, topics: application.group.topics,
              middleware: Execution::MiddlewareStack.new, producer: -> { instance.letters },
              properties: ->(_group) { application.properties }, stop: ->(error) { instance.critical(error) })
            @reporter = Reporter.new(instance)
            middleware = Execution::MiddlewareStack.new
            @pool = Pool.new(instance, queue: @queue, runner: runner(middleware), concurrency: settings.concurrency)
            put_elsewhere(instance, application.group.topics) if instance.world.plan.run_on
          end

          def resolve_transaction(claim, mailbox)
            @instance.world.coverage.hit("transaction: end not known")
            super
          end

          # @return [Pools::Processes, nil] the pool that runs users' code, if it isn't this process
          attr_reader :processes

          private

          def put_elsewhere(instance, topics)
            queue = Pools::Queue.new(instance, method(:worker_limit))
            make = method((instance.world.plan.run_on == :fibers) ? :in_fibers : :in_processes)
            executor = make.call(instance, topics, queue)
            @queue = @pool = Execution::Executors.new(@pool, topics.to_h { |topic| [topic, executor] })
          end

          def in_processes(instance, topics, queue)
            runner = runner(Execution::MiddlewareStack.new)
            @processes = Pools::Processes.build(instance, topics, queue, runner, settings.concurrency)
          end

          def in_fibers(instance, topics, queue)
            runner = runner(Execution::Fibers::Gate.new(Execution::MiddlewareStack.new))
            Pools::Fibers.new(instance, queue, runner, size: 1, most: topics.sum { |topic| worker_limit(topic.name) })
          end
        end

        # Events of the loop are passed to the checker at once.
        class Reporter
          def initialize(instance)
            @instance = instance
          end

          def emit(name, payload) = @instance.world.checker.event(@instance, name, payload)
          def subscribed?(name) = Checker::EVENTS.include?(name)
          def stuck = nil
          def dropped = 0
        end

        # @return [Integer] number of the plan's process of which it is a life
        attr_reader :slot
        # @return [Integer] number of the life
        attr_reader :number
        # @return [Integer] how long it was frozen by the system
        attr_reader :stood_ms
        attr_reader :letters, :producers

        def initialize(world, slot, number, application)
          super(world)
          @slot = slot
          @number = number
          @group = application.group
          @letters = (world.plan.hops ? Hopping::Producer : Letters).new(self)
          @producers = Producers.new(self)
          @host = Host.new(self, application)
          @paused = false
          @deferred = []
          @stood_ms = 0
          count = world.plan.connections
          groups = count ? Array.new(count) { |index| @group.on_connection(index) } : [@group]
          @connections = groups.map { |group| Connection.new(self, group, @host) }
        end

        def name = "p#{@slot}.#{@number}"
        def paused? = @paused

        # @return [Connection] whose loop is running; outside of loops any that is open
        def connection
          connection = @world.running&.connection
          return connection if connection&.instance.equal?(self)
          return @connections.first if @connections.size == 1
          open = @connections.reject(&:ended?)
          open.empty? ? @connections.last : open[@world.random.rand(open.size)]
        end

        # @return [Testing::Memory::Kafka::Driver, nil] of that connection
        def driver = connection.driver

        # @return [Array<Processing::Lane>] of the open connections
        def lanes = (@connections.size == 1) ? @connections.first.lanes : @connections.flat_map(&:lanes)

        # --- faults and requests

        # Opens one more connection.
        def connect
          number = (0..).find { |index| @connections.none? { |connection| connection.number == index && !connection.ended? } }
          @connections << Connection.new(self, @group.on_connection(number), @host)
        end

        # Closes one, if more than one is left.
        # @return [Boolean]
        def disconnect(total_ms)
          staying = @connections.reject { |connection| connection.ended? || connection.stopping? }
          return false if staying.size < 2
          staying.last.stop(Deadline.in(total_ms, clock: @world.clock))
          true
        end

        # User code raised an error that concerns the whole process.
        def critical(_error) = stop(@world.plan.shutdown_ms)

        def crash
          @dead = true
          @host.processes&.crash
          super
          @deferred.clear
        end

        def pause
          @paused = true
          @paused_at = @world.timeline.now
        end

        def go_on
          @paused = false
          @stood_ms += @world.timeline.now - @paused_at
          waiting, @deferred = @deferred, []
          waiting.each { |block| block.call unless @dead } # one of them may kill it
        end

        # The connection fails: the next check of its events raises.
        def break_connection = driver&.push([:error, -150, "_FATAL", "simulated", true])

        # @yield what happens inside the process: now, when it resumes, or never
        def run_when_awake(&block)
          return if @dead
          @paused ? @deferred << block : yield
        end
      end
    end
  end
end
