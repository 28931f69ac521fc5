# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      # Ends user code whose process has died while it ran. Not a StandardError, so that `rescue => error` doesn't see it; blocks
      # of `ensure` run, and a database transaction around it is rolled back, as a dead process's would be.
      class Crashed < Exception # rubocop:disable Lint/InheritException -- application code must not rescue it
        def initialize = super("the process has crashed (penstock.crash)")
      end

      # The run of a unit on the stack of the thread that runs the world: user code is called by the test itself, on its fiber.
      # While it waits, the events that follow happen on top of it.
      class Turn
        # @return [Instance] the process
        attr_reader :instance

        # @param instance [Instance]
        def initialize(instance, &body)
          @instance = instance
          @world = instance.world
          @timeline = @world.timeline
          @body = body
          @key = @error = nil
          @awake = false
        end

        def begin_after(delay_ms) = @timeline.after(delay_ms) { @instance.run_when_awake { run } }

        # Called by the code itself.
        # @param time [Integer] virtual ms
        # @raise [Crashed] its process has died meanwhile
        def sleep_until(time)
          @awake = false
          due_at(time)
          step until @awake
          error, @error = @error, nil
          raise error if error
        end

        # Called by others: it continues at that time unless it would continue earlier.
        # @param time [Integer] virtual ms
        def wake_at(time)
          due_at(time) if @key && time < @due
        end

        # Whether it waits.
        def asleep? = !@key.nil?

        # An exception from outside, like Thread#raise.
        # @param error [Exception, Class]
        def raise_in(error)
          @error = error
          wake_at(@timeline.now)
        end

        def inspect = "#<#{self.class}>"

        private

        def run
          before, @world.running = @world.running, self
          @body.call
        rescue Crashed
          raise unless @instance.dead?
        ensure
          @world.running = before
        end

        def step
          @world.step
          @world.running = self
          raise Crashed if @instance.dead?
        end

        def due_at(time)
          @timeline.cancel(@key) if @key
          @due = time
          @key = @timeline.at(time) do
            @key = nil
            @awake = true
          end
        end
      end
    end
  end
end
