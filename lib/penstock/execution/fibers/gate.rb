# frozen_string_literal: true

module Penstock
  module Execution
    module Fibers
      # The outermost layer around user code in a fiber: what may be interrupted begins and ends here.
      class Gate
        # Where a fiber keeps what it runs. Asked of a thread, its current fiber answers.
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

          # Called on the unit's own fiber: from here on user code runs.
          def open
            @fiber = Fiber.current
            raise @error if @error
            @open = true
          end

          # User code has ended: what comes too late is for nobody.
          def close = @open = false

          # Called by another fiber. Before user code has begun the error waits for it.
          # @param error [Exception]
          def interrupt(error)
            return @error = error unless @fiber
            raise_at(@fiber, error) if @open
          end

          private

          def raise_at(fiber, error) = Fiber.scheduler.raise(fiber, error)
        end

        # @param middleware [#call] what else is around user code
        def initialize(middleware)
          @middleware = middleware
        end

        # @see MiddlewareStack#call
        def call(consumer, action, &)
          place = Thread.current[KEY]
          place.open
          @middleware.call(consumer, action, &)
        ensure
          place&.close
        end

        class << self
          # @param place [Place] what the current fiber runs while the block does
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
