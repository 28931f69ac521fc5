# frozen_string_literal: true

require_relative "../../runtime/loop/poll_loop"

module Penstock
  module Testing
    module Memory
      # One connection of a process: a real poll loop, in a fiber, on a client of the in-memory Kafka. Ends when it is stopped, by
      # itself or with its process. Subclasses open the client ({#connect}).
      class Connection
        attr_reader :instance, :loop, :sleeper, :driver, :deadline

        # @return [Integer, nil] its number, if there are several
        attr_reader :number

        # @param instance [Instance]
        # @param group [Routing::SubscriptionGroup] with the connection's number, where there are several
        # @param host [Host]
        def initialize(instance, group, host)
          @instance = instance
          @world = instance.world
          @number = group.connection
          @loop = Runtime::PollLoop.new(group, host, method(:connect))
          @sleeper = @world.sleeper(instance, self) { run }
          @loop.mailbox.sleeper = @sleeper
          @sleeper.begin_after(0)
        end

        def ended? = @loop.finished?
        def stopping? = !@deadline.nil?

        # @param deadline [Deadline]
        def stop(deadline)
          @deadline = deadline
          @loop.stop(deadline)
        end

        # --- the driver's wait

        # @param driver [Kafka::Driver]
        # @param timeout_ms [Integer]
        # @return [Boolean] whether something was signalled
        def call(driver, timeout_ms)
          time = @world.timeline.now
          time += driver.signalled? ? @world.quickly : timeout_ms
          waits(time)
          @sleeper.sleep_until([time, @instance.slow_until].max)
          driver.signalled?
        end

        def wake(_driver)
          @sleeper.wake_at([@world.timeline.now + @world.quickly, @instance.slow_until].max) if @sleeper.asleep?
        end

        def inspect = "#<Connection #{@loop.group.id}>"

        private

        def run = @loop.run

        # The loop begins to wait.
        def waits(_until_ms) = nil
      end
    end
  end
end
