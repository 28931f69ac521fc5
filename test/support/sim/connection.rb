# frozen_string_literal: true

require "penstock/testing/memory/connection"

module Penstock
  module TestSupport
    module Sim
      # One connection of a simulated process.
      class Connection < Testing::Memory::Connection
        def name = [@instance.name, *@number].join("/")

        # @return [Array<Processing::Lane>] of the open connection
        def lanes = state&.all || []

        # @return [Runtime::ConnectionState, nil] nil while there is no connection
        def state = @loop.parts&.connection

        # @return [Processing::Failure::Breaker] of the partition's topic
        def breaker(place)
          topic = lanes.find { |lane| lane.key == place }.topic
          @loop.parts.instance_variable_get(:@topic_pipelines).fetch(topic).breaker
        end

        def inspect = "#<Connection #{name}>"

        private

        def run
          super
          @world.checker.ended(self)
        end

        def waits(until_ms)
          @world.checker.waits(self)
          @world.trace(:turn, @instance.number, until_ms - @world.timeline.now)
        end

        def connect(group)
          @driver = Testing::Memory::Kafka::Driver.new(@world.cluster, World::GROUP, name: name, host: @instance, waiter: self,
            instance_id: (["i#{@instance.slot}", *@number].join("-") if @world.plan.static && @world.plan.style != :consumer))
          @driver.resets_to_end = @world.plan.to_end
          @driver.subscribe(group.subscription)
          @driver
        end
      end
    end
  end
end
