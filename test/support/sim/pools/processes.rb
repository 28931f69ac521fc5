# frozen_string_literal: true

require "penstock/execution/executors"
require "penstock/execution/processes/child_context"
require "penstock/execution/processes/pool"
require_relative "line"
require_relative "member"
require_relative "queue"
require_relative "threads"

module Penstock
  module TestSupport
    module Sim
      module Pools
        # `run_on :processes` in a simulated process: the real pool with its drivers, in-flight lists, status files,
        # frames and replies. The child it forks is a {Member}, and the socket to it a {Line}.
        class Processes < Execution::Processes::Pool
          # @param host [Instance::Host]
          # @param instance [Instance]
          # @param topics [Array<Routing::Topic>]
          # @param runner [Execution::UnitRunner] for units that don't run in a child
          def self.build(instance, topics, queue, runner, most)
            child_context = Execution::Processes::ChildContext.new(topics: topics, monitor: monitor(instance),
              middleware: Execution::MiddlewareStack.new, clock: instance.world.clock, critical: [], producer: -> {},
              close_producer: ->(_ms) {}, threads: Threads.new(instance), adopt: ->(_monitor) {})
            new(instance: instance, child_context: child_context, queue: queue, size: most, local: Local.new(instance, runner),
              lost: ->(_error) {}, mold: Mold.new(instance, child_context))
          end

          def self.monitor(instance)
            Instrumentation::Monitor.new.tap do |monitor|
              monitor.subscribe("error.occurred") { nil } # children send it to their parent
              monitor.subscribe("process_pool.child_died") { |event| instance.world.checker.child_died(instance, event[:pid]) }
            end
          end

          def initialize(instance:, **options)
            @instance = instance
            super(**options)
          end

          # Runs units that don't run in a child, and failures' consequences for one that does.
          class Local
            def initialize(instance, runner)
              @checker = instance.world.checker
              @runner = runner
            end

            def call(slot, unit) = @runner.call(slot, unit)

            def broken(...) = @runner.broken(...)

            def forecast(...) = @runner.forecast(...)

            def callback_results(unit, error, blamed)
              @checker.failure_heard(unit)
              @runner.callback_results(unit, error, blamed)
            end
          end

          # Forks children.
          class Mold
            STATUS_MS = 5
            private_constant :STATUS_MS

            # @return [Hash{Integer => Member}]
            attr_reader :members

            def initialize(instance, child_context)
              @instance = instance
              @world = instance.world
              @child_context = child_context
              @members = {}
            end

            def pid = 1
            def start(_threads) = nil
            def close = nil

            def child
              pid = @world.next_pid
              ours, theirs = Line.pair(@world)
              member = @members[pid] = Member.new(@instance, pid, theirs, @child_context)
              Execution::Processes::ChildHandle.new(pid, Execution::Processes::Channel.new(ours),
                Execution::Processes::SharedStatus.new(member.file), self)
            end

            # Answers a moment after the socket has ended. No frame is on its way any more by then, as in a real socket.
            def ended(pid, timeout_s)
              @world.running.sleep_until(@world.timeline.now + @world.random.rand(STATUS_MS)) if timeout_s.positive?
              member = @members.fetch(pid)
              member.status if timeout_s.positive? || member.line.peer.over?
            end

            def kill(pid)
              @world.coverage.hit("pool: killed out of reach")
              @members.fetch(pid).die(9)
            end
          end

          # There is no select between sockets: what arrives while a driver is idle is read at once.
          class Listener
            def initialize(instance, mold)
              @instance = instance
              @mold = mold
            end

            def child_started(driver)
              child = driver.instance_variable_get(:@child)
              @mold.members.fetch(child.pid).driver = driver
              child.socket.heard = -> { @instance.run_when_awake { driver.read_while_idle } if driver.idle_socket }
            end

            def close = nil
          end

          def interrupt(these, error = Interrupted.new)
            super.each { |unit| @queue.interrupted(unit) }
          end

          # @return [Execution::Processes::ChildDriver]
          def driver_of(pid) = @mold.members.fetch(pid).driver

          # @return [Array<Member>]
          def members = @mold.members.values.reject(&:dead?)

          # The whole process is dead, and its children with it.
          def crash = @mold.members.each_value(&:vanish)

          private

          def listener = Listener.new(@instance, @mold)
        end
      end
    end
  end
end
