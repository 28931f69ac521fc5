# frozen_string_literal: true

require_relative "../../clock"

module Penstock
  module Execution
    module Fibers
      # Emits `fibers.blocked` when a reactor is blocked: user code that computes, or waits in a way that doesn't switch fibers,
      # makes all units of its thread wait, which looks like a slow broker from outside. Runs on a thread of its own, since the
      # reactor's is the one that is blocked; it sleeps while no reactor has work.
      class BlockedReactorMonitor
        CHECK_S = 0.5
        BLOCKED_S = 1.0
        # Lines of the backtrace in the event: enough to find the place.
        LINES = 20
        private_constant :CHECK_S, :BLOCKED_S, :LINES

        # @param reactors [#call] returns the present reactors
        # @param report [#call] receives the name and payload of an event
        def initialize(reactors, report)
          @reactors = reactors
          @report = report
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @reported = {}.compare_by_identity
          @woken = false
          @closed = false
        end

        # @param threads [#start] starts threads
        def start(threads)
          @thread ||= threads.start("penstock fibers monitor") { watch }
        end

        # A reactor has work again.
        def wake
          @lock.synchronize do
            @woken = true
            @changed.signal
          end
        end

        def close
          @lock.synchronize do
            @closed = true
            @changed.signal
          end
          @thread&.join
        end

        # Checks all reactors once.
        # @param now [Float] seconds, by the reactors' clock
        # @return [Boolean] whether any reactor has work
        def check(now)
          busy = @reactors.call.select(&:beat)
          busy.each { |reactor| report_if_blocked(reactor, reactor.beat, now) }
          busy.any?
        end

        private

        def watch
          loop do
            busy = check(now)
            @lock.synchronize do
              return if @closed
              @changed.wait(@lock, busy ? CHECK_S : nil) if busy || !@woken
              @woken = false
            end
          end
        end

        # Emits the event once each time a reactor is blocked.
        def report_if_blocked(reactor, beat, now)
          return if beat.nil? || now - beat < BLOCKED_S || @reported[reactor] == beat
          @reported[reactor] = beat
          lane = reactor.current&.lane
          @report.call("fibers.blocked", {topic: lane&.topic_name, partition: lane&.partition, thread: reactor.thread.name,
            waited_ms: ((now - beat) * 1_000).round, backtrace: reactor.thread.backtrace&.first(LINES)})
        end

        def now = Clock.seconds
      end
    end
  end
end
