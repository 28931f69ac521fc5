# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Log
      # Calls a block every second on a thread of its own, as long as there is something to do: started by {#wake}, ended when
      # the block returns false. In a process that was forked the thread doesn't exist, and {#wake} starts another one.
      class Ticker
        # Seconds.
        EVERY = 1
        private_constant :EVERY

        # @yieldreturn [Boolean] whether to call it again
        def initialize(&work)
          @work = work
          @lock = Mutex.new
          @early = ConditionVariable.new
          @thread = nil
        end

        # Called after something was added; cheap while the thread lives.
        # @return [void]
        def wake
          return if @thread&.alive?
          @lock.synchronize { @thread = start unless @thread&.alive? }
        rescue ThreadError
          nil # no more threads, or called by a signal handler: the next call tries again
        end

        # Calls the block at once instead of after a second: there may be nothing left to do.
        # @return [void]
        def hurry
          @lock.synchronize { @early.broadcast }
        rescue ThreadError
          nil # called by a signal handler
        end

        private

        def start
          Thread.new do
            Thread.current.name = "penstock log"
            Thread.current.report_on_exception = false
            Thread.handle_interrupt(Object => :immediate) { run }
          end
        end

        # A thread inherits what its creator masks: masked from being killed, it would keep the process from ending.
        def run
          @lock.synchronize { @early.wait(@lock, EVERY) } until finish
        end

        # Lets the thread end when nothing is left to do. Anything added once it counts as ended starts another thread; anything
        # added before is seen here.
        # @return [Boolean] whether it ends
        def finish
          return false if @work.call
          own = Thread.current
          @lock.synchronize { @thread = nil if @thread.equal?(own) }
          return true unless @work.call
          @lock.synchronize { @thread ? true : (@thread = own) && false }
        end
      end
    end
  end
end
