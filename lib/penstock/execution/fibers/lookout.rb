# frozen_string_literal: true

module Penstock
  module Execution
    module Fibers
      # Says so when a reactor doesn't turn: user code that computes or waits where its fiber can't be switched keeps all units of
      # the thread waiting, and looks like a slow broker from outside. A thread of its own, for the reactor's can't tell; it
      # sleeps while no reactor has work.
      class Lookout
        LOOK_S = 0.5
        BLOCKED_S = 1.0
        # Where it stands: enough to find the line.
        LINES = 20
        private_constant :LOOK_S, :BLOCKED_S, :LINES

        # @param reactors [#call] gives the reactors there are
        # @param report [#call] receives the name and payload of an event
        def initialize(reactors, report)
          @reactors = reactors
          @report = report
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @told = {}.compare_by_identity
          @woken = false
          @closed = false
        end

        # @param threads [#start] starts threads
        def start(threads)
          @thread ||= threads.start("penstock fibers lookout") { watch }
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

        # Looks once.
        # @param now [Float] seconds, as reactors tell them
        # @return [Boolean] whether any has work
        def look(now)
          busy = @reactors.call.select(&:beat)
          busy.each { |reactor| judge(reactor, reactor.beat, now) }
          busy.any?
        end

        private

        def watch
          loop do
            busy = look(now)
            @lock.synchronize do
              return if @closed
              @changed.wait(@lock, busy ? LOOK_S : nil) if busy || !@woken
              @woken = false
            end
          end
        end

        # Once for each time it stands still.
        def judge(reactor, beat, now)
          return if beat.nil? || now - beat < BLOCKED_S || @told[reactor] == beat
          @told[reactor] = beat
          lane = reactor.current&.lane
          @report.call("fibers.blocked", {topic: lane&.topic_name, partition: lane&.partition, thread: reactor.thread.name,
            waited_ms: ((now - beat) * 1_000).round, backtrace: reactor.thread.backtrace&.first(LINES)})
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
