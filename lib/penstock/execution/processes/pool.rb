# frozen_string_literal: true

require_relative "listener"
require_relative "minder"
require_relative "mold_handle"
require_relative "reply"

module Penstock
  module Execution
    module Processes
      # Runs units in processes of their own: for user code that computes, which in one process gets one core, however many
      # threads it has. As many processes as `size`; each has a thread here that looks after it ({Minder}), born with its first
      # unit. Ends with {#close}.
      #
      # The mold the processes are forked from is made with the pool, by the main thread, before anything is open that doesn't
      # survive a fork: make the pool first.
      class Pool
        # How long children may take beyond a stop's time, once they are killed.
        KILLED_S = 2.0
        private_constant :KILLED_S

        # @return [Object] where its units wait
        attr_reader :queue

        # @param kit [Kit]
        # @param queue [#take, #finished, #put_back]
        # @param size [Integer] processes
        # @param local [#call] runs what isn't for a child
        # @param lost [#call] is given an error when no process can be made any more
        # @param mold [MoldHandle]
        def initialize(kit:, queue:, size:, local:, lost:, mold: MoldHandle.fork(kit))
          @kit = kit
          @queue = queue
          @size = size
          @local = local
          @lock = Mutex.new
          @minders = {}
          @routes = kit.topics.each_with_index.to_h { |topic, index| [Pool.key(topic), index] }
          @reply = Reply.new(monitor: kit.monitor, clock: kit.clock, queue: queue, size: size, advice: local.method(:advice))
          @mold = mold
          @mold.start(kit.threads) { lost.call(gone) }
          @listener = listener
        end

        # One more process for each unit that finds nobody idle, if more are allowed.
        # @param count [Integer] how many could be used
        def grow(count = 1)
          @lock.synchronize do
            @minders.select! { |thread, _minder| thread.alive? }
            [count, @size - @minders.size].min.times { add_locked }
          end
        end

        # Raises an error in user code of these units; code that has ended is not touched.
        # @param these [Array<Processing::Lane, Processing::Unit>] units, or lanes with all their units
        # @param error [Exception]
        # @return [Array<Processing::Unit>]
        def interrupt(these, error = Interrupted.new)
          minders.flat_map { |minder| minder.flight.interrupt(these, error) }
        end

        # @return [Array<Array(Thread, Processing::Unit)>] what runs now
        def running
          pairs = @lock.synchronize { @minders.to_a }
          pairs.flat_map { |thread, minder| minder.flight.to_a.map { |entry| [thread, entry.unit] } }
        end

        # @return [Integer]
        def size = @minders.size

        # Lets idle processes go and waits for the others, then kills what is left.
        # @param timeout_s [Float]
        # @return [Boolean] whether all ended by themselves
        def close(timeout_s)
          @queue.close
          ended = joined?(timeout_s)
          minders.each(&:kill!)
          joined?(KILLED_S) unless ended
          @listener.close
          @mold.close
          ended
        end

        # What a topic that a pattern discovered has in common with its pattern.
        # @api private
        def self.key(topic) = topic.pattern ? [topic.consumer_group_id, topic.pattern.object_id] : topic.id

        private

        def route(topic) = @routes.fetch(Pool.key(topic))
        def minders = @lock.synchronize { @minders.values }
        def listener = Listener.new(@kit.threads) { minders }

        def joined?(timeout_s)
          ends = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + timeout_s
          @lock.synchronize { @minders.keys }.all? do |thread|
            thread.join([ends - ::Process.clock_gettime(::Process::CLOCK_MONOTONIC), 0].max)
          end
        end

        # Must be called with the lock held.
        def add_locked
          minder = Minder.new(queue: @queue, mold: @mold, routes: method(:route), local: @local, reply: @reply,
            report: method(:report), kit: @kit, listener: @listener)
          @minders[@kit.threads.start("penstock process #{@minders.size}") { minder.run }] = minder
        end

        def gone = InternalError.new("process #{@mold.pid}, from which the others of the pool are forked, is gone")

        def report(name, payload)
          @kit.monitor.instrument(name, payload) if @kit.monitor.subscribed?(name)
        end
      end
    end
  end
end
