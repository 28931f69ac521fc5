# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "../executor"
require_relative "gate"
require_relative "blocked_reactor_monitor"
require_relative "reactor"

module Penstock
  module Execution
    module Fibers
      # The executor of `run_on :fibers`: runs units in fibers, for user code that waits. Thousands of them share a thread (a
      # reactor of the `async` gem); whenever one waits for a socket, a timer, a lock or a commit, another continues. Code that
      # computes, or waits in a way the gem doesn't see, blocks all others of its thread: {BlockedReactorMonitor} reports that.
      #
      # At most `size` threads, started when there is work. Ends with {#close}.
      class Pool
        include Executor

        # @param topics [Array<Routing::Topic>] those with `run_on :fibers`
        # @param parts [Placement::Parts]
        # @return [Pool]
        def self.build(topics, parts)
          host = parts.host
          threads = topics.map { |topic| topic.features[:run_on].threads || 1 }.max
          most = topics.sum { |topic| host.worker_limit(topic.name) }
          report = ->(name, payload) { host.monitor.instrument(name, payload) if host.monitor.subscribed?(name) }
          new(queue: host.new_queue, runner: parts.runner.call(Gate.new(parts.middleware)), threads: host.threads,
            size: threads, most: (most / threads.to_f).ceil, report: report)
        end

        # Loads the gem, which isn't a dependency of Penstock.
        # @raise [ConfigurationError] the gem isn't installed
        def self.load
          require "async"
          require_relative "io_timeout" unless IO.method_defined?(:timeout)
        rescue LoadError
          raise ConfigurationError.new([Problem.new(nil, "run_on :fibers needs the gem async, which isn't installed",
            "Add `gem \"async\"` to the Gemfile")])
        end

        # @return [Object] the queue of its units
        attr_reader :queue

        # @param queue [#take, #finished]
        # @param runner [#call, #broken] runs a unit, see {UnitRunner}
        # @param threads [#start] starts threads
        # @param size [Integer] reactor threads
        # @param most [Integer] units each may have at once
        # @param report [#call] receives the name and payload of an event
        def initialize(queue:, runner:, threads:, size:, most:, report:)
          self.class.load
          @queue = queue
          @runner = runner
          @threads = threads
          @size = size
          @most = most
          @lock = Mutex.new
          @reactors = {}
          @monitor = BlockedReactorMonitor.new(method(:reactors), report)
        end

        # Starts one more reactor, if one more is allowed and no reactor waits for units.
        # @param count [Integer] how many could be used
        def grow(count = 1)
          @lock.synchronize do
            @reactors.select! { |thread, _reactor| thread.alive? }
            add_locked if count.positive? && @reactors.size < @size
          end
        end

        # Raises an error in user code of these units, where it waits; code that has ended is not affected.
        # @param these [Array<Processing::Lane, Processing::Unit>] units, or lanes with all their units
        # @param error [Exception]
        # @return [Array<Processing::Unit>] units that will be interrupted
        def interrupt(these, error = Interrupted.new)
          reactors.flat_map { |reactor| reactor.interrupt(these, error) }
        end

        # @return [Array<Array(Thread, Processing::Unit)>] the running units
        def running
          @lock.synchronize { @reactors.to_a }.flat_map { |thread, reactor| reactor.units.map { |unit| [thread, unit] } }
        end

        # @return [Integer]
        def size = @reactors.size

        # Lets idle reactors end, and waits for the others.
        # @param timeout_s [Float]
        # @return [Boolean] whether all have ended
        def close(timeout_s)
          @queue.close
          ends = now + timeout_s
          ended = @lock.synchronize { @reactors.keys }.all? { |thread| thread.join([ends - now, 0].max) }
          @monitor.close
          ended
        end

        private

        def reactors = @lock.synchronize { @reactors.values }

        def reactor(**options) = Reactor.new(**options)

        # Must be called with the lock held. If no thread can be started, the existing reactors continue, and it is tried again
        # ({#start_missing}).
        def add_locked
          @monitor.start(@threads)
          reactor = reactor(queue: @queue, runner: @runner, most: @most, busy: @monitor.method(:wake),
            report: method(:report_error))
          @reactors[@threads.start("penstock fibers #{@reactors.size}") { reactor.run }] = reactor
        rescue ThreadError => error
          report_error(error)
        end

        def report_error(error) = @threads.report("penstock fibers", error)

        def now = Clock.seconds
      end
    end
  end
end
