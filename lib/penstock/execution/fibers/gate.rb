# frozen_string_literal: true

module Penstock
  module Execution
    module Fibers
      # The outermost layer around user code in a fiber: a unit can be interrupted only within it.
      class Gate
        # Where a fiber stores the unit it runs. When read from a thread, it is that of the thread's current fiber.
        KEY = :penstock_place
        private_constant :KEY

        # A unit in its fiber. Touched by the reactor's thread only.
        class Place
          attr_reader :slot, :unit

          # @param slot [Object] of the run queue
          # @param unit [Processing::Unit]
          def initialize(slot, unit)
            @slot = slot
            @unit = unit
            @fiber = nil
            @open = false
            @error = nil
          end

          # Called on the unit's own fiber: user code runs from here on.
          def open
            @fiber = Fiber.current
            raise @error if @error
            @open = true
          end

          # User code has ended: later interrupts have no effect.
          def close = @open = false

          # Called by another fiber. Before user code has begun, the error is kept until then.
          # @param error [Exception]
          def interrupt(error)
            return @error = error unless @fiber
            raise_at(@fiber, error) if @open
          end

          private

          def raise_at(fiber, error) = Fiber.scheduler.raise(fiber, error)
        end

        # @param middleware [#call] the other layers around user code
        def initialize(middleware)
          @middleware = middleware
        end

        # @see MiddlewareStack#wrapper
        def wrapper = @middleware.wrapper

        # @see MiddlewareStack#call
        def call(consumer, action, &)
          place = Thread.current[KEY]
          place.open
          @middleware.call(consumer, action, &)
        ensure
          place&.close
        end

        class << self
          # @param place [Place] of the unit that the current fiber runs during the block
          def enter(place)
            Thread.current[KEY] = place
            yield
          ensure
            Thread.current[KEY] = nil
          end

          # @param thread [Thread]
          # @return [Place, nil] of its current fiber
          def place_of(thread) = thread[KEY]
        end
      end
    end
  end
end
