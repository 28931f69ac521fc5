# frozen_string_literal: true

require_relative "../../clock"
require_relative "../executor"
require_relative "child_context"
require_relative "child_driver"
require_relative "listener"
require_relative "mold_handle"
require_relative "reply"

module Penstock
  module Execution
    module Processes
      # The executor of `run_on :processes`: runs units in child processes. For user code that computes, which in one process
      # gets one core however many threads it has. There are at most `size` processes; each has a thread here that drives it
      # ({ChildDriver}), started with its first unit. Ends with {#close}.
      #
      # The mold that the processes are forked from is created with the pool, by the main thread, before anything is open that
      # does not survive a fork: create the pool first.
      class Pool
        include Executor

        # @param topics [Array<Routing::Topic>] those with `run_on :processes`
        # @param parts [Placement::Parts]
        # @return [Pool]
        # @raise [ConfigurationError] this process can't be forked from
        def self.build(topics, parts)
          host = parts.host
          queue = host.new_queue
          context = ChildContext.new(topics: topics, middleware: parts.middleware, monitor: host.monitor, clock: host.clock,
            critical: host.settings.critical_errors, threads: host.threads, **parts.child_setup)
          new(child_context: context, queue: queue, local: parts.runner.call(parts.middleware),
            mold: parts.mold || forked_mold(context), size: topics.map { |topic| topic.features[:run_on].most }.max,
            lost: host.method(:stop_because))
        end

        def self.forked_mold(context)
          problems = Mold.obstacles
          raise ConfigurationError.new(problems) if problems.any?
          MoldHandle.fork(context)
        end
        private_class_method :forked_mold

        # How long children may take to end after they are killed.
        KILLED_S = 2.0
        # How long no process is started after one couldn't be created: less than the interval of {#start_missing}.
        SHORTAGE_S = 0.5
        private_constant :KILLED_S, :SHORTAGE_S

        # @return [Object] the queue of its units
        attr_reader :queue

        # @param child_context [ChildContext]
        # @param queue [#take, #finished, #put_back]
        # @param size [Integer] processes
        # @param local [#call, #broken] runs units that are not for a child
        # @param lost [#call] called with an error when no process can be forked any more
        # @param mold [MoldHandle]
        def initialize(child_context:, queue:, size:, local:, lost:, mold: MoldHandle.fork(child_context))
          @child_context = child_context
          @queue = queue
          @size = size
          @local = local
          @lock = Mutex.new
          @drivers = {}
          @shortage_until = 0.0
          @routes = child_context.topics.each_with_index.to_h { |topic, index| [Pool.key(topic), index] }
          @reply = Reply.new(monitor: child_context.monitor, clock: child_context.clock, queue: queue, size: size,
            callback_results: local.method(:callback_results), forecast: local.method(:forecast))
          @mold = mold
          @mold.start(child_context.threads) { lost.call(gone) }
          @listener = listener
        end

        # Starts one more process for each unit without an idle one, if more are allowed and none just couldn't be created.
        # @param count [Integer] how many could be used
        def grow(count = 1)
          @lock.synchronize do
            next if now < @shortage_until
            @drivers.select! { |thread, _driver| thread.alive? }
            [count, @size - @drivers.size].min.times { add_locked }
          end
        end

        # Raises an error in user code of these units; code that has ended is not affected.
        # @param these [Array<Processing::Lane, Processing::Unit>] units, or lanes with all their units
        # @param error [Exception]
        # @return [Array<Processing::Unit>]
        def interrupt(these, error = Interrupted.new)
          drivers.flat_map { |driver| driver.in_flight.interrupt(these, error) }
        end

        # @return [Array<Array(Thread, Processing::Unit)>] the running units
        def running
          pairs = @lock.synchronize { @drivers.to_a }
          pairs.flat_map { |thread, driver| driver.in_flight.to_a.map { |entry| [thread, entry.unit] } }
        end

        # @return [Integer]
        def size = @drivers.size

        # Lets idle processes end and waits for the others, then kills those that are left.
        # @param timeout_s [Float]
        # @return [Boolean] whether all ended by themselves
        def close(timeout_s)
          @queue.close
          ended = joined?(timeout_s)
          drivers.each(&:kill!)
          joined?(KILLED_S) unless ended
          @listener.close
          @mold.close
          ended
        end

        # Identifies a topic; topics that a pattern discovered have their pattern's key.
        # @api private
        def self.key(topic) = topic.pattern ? [topic.consumer_group_id, topic.pattern.object_id] : topic.id

        private

        def route(topic) = @routes.fetch(Pool.key(topic))
        def drivers = @lock.synchronize { @drivers.values }
        def listener = Listener.new(@child_context.threads) { drivers }

        def joined?(timeout_s)
          ends = now + timeout_s
          while (thread = @lock.synchronize { @drivers.each_key.find(&:alive?) })
            return false unless thread.join([ends - now, 0].max)
          end
          true
        end

        # Must be called with the lock held. If no thread can be started, the existing processes continue, and it is tried again
        # ({#start_missing}).
        def add_locked
          start_locked(ChildDriver.new(queue: @queue, mold: @mold, routes: method(:route), local: @local, reply: @reply,
            report: method(:report), child_context: @child_context, listener: @listener))
        end

        # Must be called with the lock held.
        # @return [Thread, nil] nil where none could be started
        def start_locked(driver)
          thread = @child_context.threads.start("penstock process #{@drivers.size}") { drive(driver) }
          @drivers[thread] = driver
          thread
        rescue ThreadError => error
          @child_context.threads.report("penstock process", error)
          nil
        end

        def drive(driver)
          shortage = driver.run
          ended = true
          note_shortage(shortage) if shortage
        ensure
          replace_thread(driver) unless ended
        end

        # No process could be created for this driver, which ends. Its units are queued; {#start_missing} tries again. Several
        # drivers report it once.
        def note_shortage(error)
          first = @lock.synchronize { (now >= @shortage_until).tap { @shortage_until = now + SHORTAGE_S } }
          @child_context.threads.report("penstock process", error) if first
        end

        # User code that runs in this process, such as a filter, ended the driver's thread: another one continues with its child
        # and the units in it.
        def replace_thread(driver)
          started = @lock.synchronize do
            @drivers.delete(Thread.current)
            start_locked(driver)
          end
          driver.abandon(InternalError.new("no thread could be started to drive a process of the pool")) unless started
        end

        def now = Clock.seconds
        def gone = InternalError.new("process #{@mold.pid}, from which the others of the pool are forked, is gone")

        def report(name, payload)
          @child_context.monitor.instrument(name, payload) if @child_context.monitor.subscribed?(name)
        end
      end
    end
  end
end
