# frozen_string_literal: true

module Penstock
  module Runtime
    # Starts all threads: each has a name, reports the error it dies of, and is listed until it has ended, so that a stop can
    # name the threads that are left.
    #
    # Shared by all loops of an application; any thread may start one.
    class Threads
      # @param report [#call] receives (name, error) when a thread ends by an error nobody handled
      def initialize(report)
        @report = report
        @lock = Mutex.new
        @living = {}
      end

      # @param name [String] shown by `ps` and in dumps
      # @param priority [Integer] Ruby's thread priority, -3..3
      # @return [Thread]
      def start(name, priority: 0, &block)
        @lock.synchronize do
          thread = Thread.new { root(name, &block) }
          thread.name = name
          thread.priority = priority
          thread.report_on_exception = false
          @living[thread] = name
          thread
        end
      end

      # Reports an error of a thread, or of one that couldn't be started.
      def report(name, error) = @report.call(name, error)

      # @return [Array<Thread>] threads that haven't ended
      def living = @lock.synchronize { @living.keys }.select(&:alive?)

      private

      # A thread's root is the only place that may rescue Exception: nothing above it could handle what arrives here.
      def root(name)
        @lock.synchronize {} # until #start has given it its name, which user code may read
        yield
      rescue Exception => error # rubocop:disable Lint/RescueException -- root of the thread
        report(name, error)
      ensure
        @lock.synchronize { @living.delete(Thread.current) }
      end
    end
  end
end
