# frozen_string_literal: true

require "penstock/deadline"
require "penstock/runtime/loop/poll_loop"
require_relative "fibers"

module Penstock
  module TestSupport
    module Sim
      # One connection of a simulated process: a real poll loop, in a fiber, on a client of FakeKafka. Ends when it is
      # stopped, by itself or with its process.
      class Connection
        attr_reader :instance, :loop, :sleeper, :driver, :deadline

        # @param instance [Instance]
        # @param group [Routing::SubscriptionGroup] with the connection's number, where there are several
        # @param host [Runtime::ProcessContext]
        def initialize(instance, group, host)
          @instance = instance
          @world = instance.world
          @number = group.connection
          @loop = Runtime::PollLoop.new(group, host, method(:connect))
          @loop.instance_variable_set(:@longest_wait, 10_000) # idle turns prove nothing here
          @loop.instance_variable_set(:@all_lanes_ms, Float::INFINITY) # it would heal what must not happen
          @sleeper = Sleeper.new(instance, self) { run }
          @loop.mailbox.sleeper = @sleeper
          @sleeper.begin_after(0)
        end

        # @return [Integer, nil] its number, if there are several
        attr_reader :number

        def name = [@instance.name, *@number].join("/")
        def ended? = @loop.finished?
        def stopping? = !@deadline.nil?

        # @return [Array<Processing::Lane>] of the open connection
        def lanes = state&.all || []

        # @return [Runtime::ConnectionState, nil] nil while there is no connection
        def state = @loop.instance_variable_get(:@parts)&.connection

        # @return [Processing::Failure::Breaker] of the partition's topic
        def breaker(place)
          topic = lanes.find { |lane| lane.key == place }.topic
          @loop.instance_variable_get(:@parts).instance_variable_get(:@topic_pipelines).fetch(topic).breaker
        end

        # @param deadline [Deadline]
        def stop(deadline)
          @deadline = deadline
          @loop.stop(deadline)
        end

        # --- the driver's wait

        def call(driver, timeout_ms)
          @world.checker.waits(self)
          time = @world.timeline.now
          time += driver.signalled? ? @world.quickly : timeout_ms
          @world.trace(:turn, @instance.number, time - @world.timeline.now)
          @sleeper.sleep_until([time, @instance.slow_until].max)
          driver.signalled?
        end

        def wake(_driver)
          @sleeper.wake_at([@world.timeline.now + @world.quickly, @instance.slow_until].max) if @sleeper.asleep?
        end

        def inspect = "#<Connection #{name}>"

        private

        def run
          @loop.run
          @world.checker.ended(self)
        end

        def connect(group)
          @driver = FakeKafka::Driver.new(@world.cluster, World::GROUP, name: name, host: @instance, waiter: self,
            instance_id: (["i#{@instance.slot}", *@number].join("-") if @world.plan.static && @world.plan.style != :consumer))
          @driver.resets_to_end = @world.plan.to_end
          @driver.subscribe(group.subscription)
          @driver
        end
      end
    end
  end
end
