# frozen_string_literal: true

require_relative "../../../instrumentation/safe_logger"
require_relative "../host"
require_relative "inline_workers"
require_relative "reporter"

module Penstock
  module Testing
    module Memory
      class Runner
        # Gives the poll loops of an application's process its settings, its middleware, its producer and its monitor.
        # Routes with `run_on` run on the same workers as all others.
        class Host < Memory::Host
          # An idle loop waits for its timers only, however long a test travels: years are a few events. A check each second of
          # what takes long would make 600,000 events of a week in which a record waits.
          INTERVALS = [365 * 86_400_000, Float::INFINITY, 600_000].freeze
          private_constant :INTERVALS

          # Threads of a process that are no workers: they run on the timeline.
          class Threads
            # @param instance [Process]
            # @param report [#call] receives (name, error)
            def initialize(instance, report)
              @instance = instance
              @report = report
            end

            # @return [Sleeper]
            def start(name, **)
              @instance.aside do
                yield
              rescue => error
                report(name, error)
              end
            end

            def report(name, error) = @report.call(name, error)
          end

          # Nothing is asked about other members of a group: there are none.
          module NoQuery
            def self.ask = false
          end

          # @param instance [Process]
          # @param journal [Journal]
          # @param topics [Array<Routing::Topic>]
          def initialize(instance, journal, topics)
            application = instance.world.application
            middleware = Recorded.new(application.middleware.to_stack, journal)
            super(instance,
              settings: application.config, monitor: application.monitor, topics: topics, middleware: middleware,
              logger: Instrumentation::SafeLogger.of(application.logger), producer: application.method(:producer),
              properties: instance.world.method(:properties), stop: instance.method(:stop_because))
            @threads = Threads.new(instance, method(:thread_died))
            @reporter = Reporter.new(instance, application.monitor, journal)
            @pool = InlineWorkers.new(instance, queue: @queue, runner: runner(middleware), concurrency: 1)
          end

          def turn_intervals(_group) = INTERVALS
          def group_query(_group) = NoQuery
        end

        # Writes each call of user code into the journal, around the application's middleware.
        class Recorded
          # @param stack [Execution::MiddlewareStack]
          # @param journal [Journal]
          def initialize(stack, journal)
            @stack = stack
            @journal = journal
          end

          def wrapper = @stack.wrapper

          def call(consumer, action, &core) = @journal.call(consumer, action) { @stack.call(consumer, action, &core) }
        end
      end
    end
  end
end
