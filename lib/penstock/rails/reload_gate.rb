# frozen_string_literal: true

require_relative "../clock"

module Penstock
  module OnRails
    # Lets calls of user code begin, or one of them reload the code: while it waits for the running calls to end, and while it
    # reloads, no other begins. Only calls wait here; poll loops continue, and partitions stay assigned.
    #
    # Used by workers, threads and fibers, whose exceptions from outside are masked: a stop or a revocation interrupts the wait.
    class ReloadGate
      # How often it is asked whether files have changed: that reads the modification time of every file.
      ASK_S = 0.2
      # How long a reload waits until it is reported which call holds it.
      REPORT_S = 2.0
      private_constant :ASK_S, :REPORT_S

      # A running call.
      Call = Struct.new(:topic, :action, :thread, :began) do
        # @return [String] what runs, since when, and the application's line at which it is
        def describe(now, root)
          line = thread.backtrace&.find { |place| place.start_with?("#{root}/") }
          format("%s of %s, which has been running for %.1f s%s", action, topic, now - began,
            line ? ", at #{line.delete_prefix("#{root}/")}" : "")
        end
      end
      private_constant :Call

      # @param changed [#call] returns whether code has to be reloaded
      # @param report [#call] receives the text of a line
      # @param root [String] the application's folder
      # @param clock [#call] seconds
      def initialize(changed:, report:, root:, clock: -> { Clock.seconds })
        @changed = changed
        @report = report
        @root = root
        @clock = clock
        @lock = Mutex.new
        @free = ConditionVariable.new
        @running = {}.compare_by_identity
        @reloading = nil
        @asked = nil
      end

      # Runs a call. It waits while another one reloads.
      # @param topic [String]
      # @param action [Symbol]
      # @yieldparam reload [Boolean] whether the block has to reload the code before it runs user code, and to call {#reloaded}
      #   in between
      def pass(topic, action)
        call = Call.new(topic, action, Thread.current, @clock.call)
        reload = admit(call)
        yield reload
      ensure
        leave(call)
      end

      # The code was reloaded: other calls may begin.
      # @return [void]
      def reloaded
        @lock.synchronize { open_locked }
      end

      private

      def admit(call)
        Thread.handle_interrupt(Exception => :on_blocking) do
          @lock.synchronize do
            @free.wait(@lock) while @reloading
            call.began = @clock.call
            @running[call] = true
            next false unless start_asking_locked && @changed.call
            @reloading = call
            wait_for_others_locked
            true
          end
        end
      end

      # @return [Boolean] whether it is time to ask
      def start_asking_locked
        now = @clock.call
        return false if @asked && now - @asked < ASK_S
        @asked = now
        true
      end

      def wait_for_others_locked
        report_at = @clock.call + REPORT_S
        while @running.size > 1
          @free.wait(@lock, report_at && [report_at - @clock.call, 0.001].max)
          next unless report_at && @clock.call >= report_at
          report_at = nil
          report_locked
        end
      end

      def report_locked
        oldest = @running.each_key.reject { |call| call.equal?(@reloading) }.min_by(&:began) or return
        @report.call("code has changed and is reloaded when all running calls have ended. It waits for " \
          "#{oldest.describe(@clock.call, @root)}")
      end

      def leave(call)
        @lock.synchronize do
          @running.delete(call)
          if @reloading.equal?(call)
            @asked = nil # it was interrupted: the next call asks again
            open_locked
          elsif @reloading
            @free.broadcast
          end
        end
      end

      def open_locked
        @reloading = nil
        @free.broadcast
      end
    end
  end
end
