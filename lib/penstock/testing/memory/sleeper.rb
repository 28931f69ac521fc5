# frozen_string_literal: true

require_relative "turn"

module Penstock
  module Testing
    module Memory
      # A fiber that sleeps on the timeline where a thread would sleep: a poll loop, or other code that runs at the same time. It
      # can be woken early; after its process has died it never resumes.
      class Sleeper
        # @return [Instance] the process
        attr_reader :instance

        # @return [Connection, nil] whose poll loop it is
        attr_reader :connection

        # @param instance [Instance]
        # @param connection [Connection, nil]
        def initialize(instance, connection = nil, &body)
          @instance = instance
          @connection = connection
          @timeline = instance.world.timeline
          @fiber = Fiber.new(&body)
          @due = nil
          @key = nil
          @born = false
          @resume = -> { @fiber.resume }
          @awake = -> { go(&@resume) }
          @due_now = lambda do
            @key = nil
            @instance.run_when_awake(&@awake)
          end
        end

        def begin_after(delay_ms) = due_at(@timeline.now + delay_ms)

        # Not before others, but at this time.
        def begin_now = @instance.run_when_awake(&@awake)

        # Called by the fiber itself.
        # @param time [Integer] virtual ms
        def sleep_until(time)
          due_at(time)
          Fiber.yield
        end

        # Called by others: it resumes at that time unless it would resume earlier.
        # @param time [Integer] virtual ms
        def wake_at(time)
          due_at(time) if @key && time < @due
        end

        # Whether it is a poll loop.
        def loop? = !@connection.nil?

        # Whether it sleeps in the middle of something.
        def asleep? = !@key.nil? && @born
        def ended? = !@fiber.alive?
        def alive? = @fiber.alive? && !@instance.dead?

        # An exception from outside, like Thread#raise.
        # @param error [Exception, Class]
        def raise_in(error)
          @timeline.cancel(@key) if @key
          @key = nil
          go { @fiber.raise(error) }
        end

        # Its process has died. It may be using an object that outlives the process, such as the application's producer: blocks of
        # `ensure` run.
        def crash
          raise_in(Crashed) if asleep?
        rescue Crashed
          nil # the fiber has ended
        end

        def inspect = "#<#{self.class}>"

        private

        def due_at(time)
          @timeline.cancel(@key) if @key
          @due = time
          @key = @timeline.at(time, &@due_now)
        end

        def go
          before, @instance.world.running = @instance.world.running, self
          @born = true
          yield
        ensure
          @instance.world.running = before
        end
      end
    end
  end
end
