# frozen_string_literal: true

require_relative "../../clock"
require_relative "examples"

module Penstock
  module Testing
    class Kit
      # Makes the wait of a job one of virtual time: Active Job adds it to Ruby's time, which runs don't change, so that a job
      # that is enqueued, or retried, after virtual time has passed would be due at once. Times of `wait_until` stay as they are.
      #
      # Prepended to ActiveJob::Base when an example begins. Outside of examples, and with other adapters, it changes nothing.
      module JobWaits
        class << self
          # Does nothing the second time, nor in tests without Active Job.
          # @return [void]
          def install
            return if @installed || !defined?(::ActiveSupport.on_load)

            @installed = true
            ::ActiveSupport.on_load(:active_job) { prepend JobWaits }
          end

          # @return [Rational] seconds by which virtual time is ahead of Ruby's: 0 if it isn't
          def ahead
            virtual_ms = wall_ms or return 0r
            [Rational(virtual_ms, 1_000) - ::Time.now.to_r, 0r].max
          end

          private

          def wall_ms
            world = Memory::World.current if defined?(Memory::World) # loaded by the first run
            world ? world.clock.wall_ms : Examples.of_thread&.wall_ms
          end
        end

        # @param options [Hash] of Active Job's `set`, `enqueue` and `retry_job`
        # @return [self]
        def set(options = {})
          super.tap { self.scheduled_at += JobWaits.ahead if options[:wait] && !options[:wait_until] && penstock_waits? }
        end

        private

        def penstock_waits?
          defined?(Penstock::ActiveJob::Adapter) && self.class.queue_adapter.is_a?(Penstock::ActiveJob::Adapter)
        end
      end
    end
  end
end
