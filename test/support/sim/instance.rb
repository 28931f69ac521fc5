# frozen_string_literal: true

require "logger"
require "penstock/deadline"
require "penstock/instrumentation/monitor"
require "penstock/runtime/commit_codec"
require "penstock/runtime/host"
require "penstock/runtime/poll_loop"
require_relative "fibers"
require_relative "letters"
require_relative "pool"
require_relative "producers"

module Penstock
  module TestSupport
    module Sim
      # One life of one simulated process: the real poll loop with everything behind it, in a fiber, on a client of FakeKafka.
      # It may be told to stop, be stopped by the system for a while, or die; what it had in memory is then gone.
      class Instance
        MONITOR = Instrumentation::Monitor.new
        LOGGER = Logger.new(nil)
        private_constant :LOGGER

        # Everything real but the threads.
        class Host < Runtime::Host
          def initialize(instance, application)
            super(settings: application.settings, monitor: MONITOR, logger: LOGGER, clock: instance.world.clock,
                  codec: Runtime::CommitCodec.new, layers: [], producer: -> { instance.letters },
                  topics: application.group.topics, properties: ->(_group) { application.properties },
                  stop: ->(error) { instance.critical(error) })
            @instance = instance
            @reporter = Reporter.new(instance)
            @pool = Pool.new(instance, queue: @queue, runner: runner(Execution::Onion.new), concurrency: settings.concurrency)
          end

          def inquire(claim, mailbox)
            @instance.world.coverage.hit("transaction: end not known")
            @instance.aside { |nap| Runtime::Inquiry.new(claim, mailbox, pause: nap).run }
          end

          # Nothing is written to disk.
          def dump_flight(_reason, _loops) = nil
        end

        # Events of the loop go to the checker at once.
        class Reporter
          def initialize(instance)
            @instance = instance
          end

          def emit(name, payload) = @instance.world.checker.event(@instance, name, payload)
          def subscribed?(name) = Checker::EVENTS.include?(name)
          def dropped = 0
        end

        # @return [Integer] which process of the plan it is a life of
        attr_reader :slot
        # @return [Integer] number of the life
        attr_reader :number
        # @return [Integer] how long it was stopped by the system
        attr_reader :stood_ms
        attr_reader :world, :sleeper, :loop, :host, :driver, :deadline, :letters, :producers

        def initialize(world, slot, number, application)
          @world = world
          @slot = slot
          @number = number
          @letters = Letters.new(self)
          @producers = Producers.new(self)
          @host = Host.new(self, application)
          @loop = Runtime::PollLoop.new(application.group, @host, method(:connect))
          @loop.instance_variable_set(:@longest_wait, 10_000) # idle turns tell nothing here
          @dead = false
          @paused = false
          @deferred = []
          @stood_ms = 0
          @slow_until = 0
          @sleeper = Sleeper.new(self) { run }
          @loop.mailbox.sleeper = @sleeper
          @sleeper.begin_after(0)
        end

        def name = "p#{@slot}.#{@number}"
        def dead? = @dead
        def paused? = @paused
        def ended? = @loop.finished?
        def running? = !@dead && !ended?
        def stopping? = !@deadline.nil?

        # @return [Array<Processing::Unit>]
        def units = @host.pool.running.map(&:last)

        # @return [Array<Processing::Lane>] of the open connection
        def lanes = @loop.instance_variable_get(:@parts)&.session&.all || []

        # @return [Processing::Failure::Breaker, nil] of the partition's topic
        def breaker(place)
          topic = lanes.find { |lane| lane.key == place }.topic
          @loop.instance_variable_get(:@parts).instance_variable_get(:@assemblies).fetch(topic).breaker
        end

        # --- what is done to it

        def stop(total_ms)
          @deadline = Deadline.in(total_ms, clock: @world.clock)
          @host.stopping!
          @loop.stop(@deadline)
        end

        # User code had an error that concerns the whole process.
        def critical(_error) = stop(@world.plan.shutdown_ms)

        def crash
          @dead = true
          @driver&.forget
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

        # The loop's thread gets no turn until then.
        attr_writer :slow_until

        # The connection fails: the next look at its events raises.
        def break_connection = @driver&.push([:error, -150, "_FATAL", "simulated", true])

        # @yield what happens inside the process: now, when it goes on, or never
        def run_when_awake(&block)
          return if @dead
          @paused ? @deferred << block : yield
        end

        # A thread of its own.
        # @yieldparam nap [#call] waits so many milliseconds
        def aside
          sleeper = Sleeper.new(self) { yield ->(delay_ms) { sleeper.sleep_until(@world.timeline.now + delay_ms) } }
          sleeper.begin_after(0)
        end

        # --- the driver's wait

        def call(driver, timeout_ms)
          time = @world.timeline.now
          time += driver.signalled? ? @world.quickly : timeout_ms
          @world.trace(:turn, @number, time - @world.timeline.now)
          @sleeper.sleep_until([time, @slow_until].max)
          driver.signalled?
        end

        def wake(_driver)
          @sleeper.wake_at([@world.timeline.now + @world.quickly, @slow_until].max) if @sleeper.asleep?
        end

        def inspect = "#<Instance>"

        private

        def run
          @loop.run
          @world.checker.ended(self)
        end

        def connect(group)
          @driver = FakeKafka::Driver.new(@world.cluster, World::GROUP, name: name, host: self, waiter: self,
            instance_id: ("i#{@slot}" if @world.plan.static && @world.plan.style != :consumer))
          @driver.subscribe(group.subscription)
          @driver
        end
      end
    end
  end
end
