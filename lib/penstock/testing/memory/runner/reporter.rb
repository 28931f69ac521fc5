# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      class Runner
        # Delivers the loops' events to the listeners of the application, on the test's thread, and to the journal.
        class Reporter
          # @param instance [Process]
          # @param monitor [Instrumentation::Monitor]
          # @param journal [Journal]
          def initialize(instance, monitor, journal)
            @instance = instance
            @timeline = instance.world.timeline
            @monitor = monitor
            @journal = journal
          end

          # @param name [String] event
          # @param payload [Hash, #call]
          def emit(name, payload)
            return unless subscribed?(name)
            payload = payload.call if payload.respond_to?(:call)
            @journal.event(name, payload)
            later { @monitor.instrument(name, payload) } if @monitor.subscribed?(name)
          end

          def later(&work) = @timeline.after(0) { @instance.run_when_awake(&work) }

          def subscribed?(name) = @journal.wants?(name) || @monitor.subscribed?(name)

          def stuck = nil
          def dropped = 0
        end
      end
    end
  end
end
