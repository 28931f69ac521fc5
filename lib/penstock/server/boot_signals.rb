# frozen_string_literal: true

require_relative "exit_codes"

module Penstock
  module Server
    # Handles signals from the first line of a boot until the application installs its own handlers ({Signals#install}),
    # without a gap: loading an application and asking a cluster for its topics may take long. Nothing needs an orderly
    # end yet, so a stop signal ends the process at once, with a clean exit code; signals for the application are kept
    # for it. So is a stop whose exit was swallowed by code that rescues every Exception, as the Logger of Ruby 3.1 to 3.3
    # does while it writes: the application stops as soon as it runs. And if code has replaced the exit by another error, as
    # RubyGems' `require` may when it is left, the stop counts.
    #
    # USR1 and USR2 of a server end the process by that signal, as Ruby's default does. But Ruby raises an exception on the
    # main thread, which the same code swallows.
    #
    # Handlers belong to the process, so there is only one instance at a time. Used on the main thread, where traps run. It
    # ends with the block given to {.hold}, and so does the command: the handlers stay, so that a late stop signal doesn't kill
    # the process while its `at_exit` blocks run. Those of the application stay for the same reason ({Signals#restore}).
    class BootSignals
      # This many stop signals end the process at once.
      MOST_STOPS = 3

      class << self
        # @return [BootSignals, nil] the active instance
        attr_reader :current

        # @param stops [Array<String>] names that end the process
        # @param kept [Array<String>] names that are passed to the application once it runs
        # @param idle [Array<String>] names without a meaning yet
        # @param fatal [Array<String>] names that end the process by that signal, also after the boot, unless the
        #   application has a handler of its own
        # @param code [Integer] exit code of a stop
        # @param handler_of [#trap] Ruby's `Signal`, or a double of it
        # @return what the block returns; the code of a stop if an error has replaced the stop's exit
        def hold(stops:, code:, kept: [], idle: [], fatal: [], handler_of: ::Signal)
          @current = new(handler_of)
          @current.install(stops: stops, kept: kept, idle: idle, fatal: fatal, code: code)
          yield
        rescue StandardError, ScriptError
          raise unless @current.stopped?
          code
        ensure
          @current&.close
          @current = nil
        end
      end

      def initialize(handler_of)
        @traps = handler_of
        @before = {}
        @own = {}.compare_by_identity
        @early = []
        @stops = 0
      end

      # A HUP that was ignored when the process began (`nohup`) stays ignored.
      # @return [void]
      def install(stops:, kept:, idle:, fatal:, code:)
        stops.each { |name| trap(name) { stop(name, code) unless @over } }
        kept.each { |name| trap(name) { @early << name unless @over } }
        idle.each { |name| trap(name) {} }
        fatal.each { |name| trap(name) { die_of(name) } }
        fatal.each { |name| @traps.trap(name, @before[name]) unless ["DEFAULT", "SYSTEM_DEFAULT", nil].include?(@before[name]) }
        @traps.trap("HUP", "IGNORE") if @before["HUP"] == "IGNORE"
      end

      # @param handler [Proc, String, nil] the handler that the application's has replaced
      # @return [Proc, String, nil] the handler before the boot if this is one of the boot's, else the handler itself
      def behind(handler) = @own.key?(handler) ? @before[@own[handler]] : handler

      # The application's handlers are installed. A handler that the boot file has installed in between may still call
      # the boot's; from now on these do nothing.
      # @return [Array<String>] the kept signals, and a stop whose exit was swallowed
      def give_way
        @over = true
        @early.shift(@early.size)
      end

      # @return [Boolean] whether a stop came that the application doesn't know of
      def stopped? = @stops.positive? && !@over

      # From now on a stop signal doesn't exit a second time: the process ends already. Only a third one ends it at once.
      # @return [void]
      def close = @closed = true

      private

      def stop(name, code)
        @early << name
        @stops += 1
        return exit(code) unless @closed
        exit!(ExitCodes::FORCED) if @stops >= MOST_STOPS
      end

      # The first process of a container can't be ended by a signal without a handler, so it exits.
      def die_of(name)
        @traps.trap(name, "SYSTEM_DEFAULT")
        ::Process.kill(name, ::Process.pid)
        exit!(128 + ::Signal.list.fetch(name))
      end

      def trap(name, &handler)
        @own[handler] = name
        @before[name] = @traps.trap(name, handler)
      end
    end
  end
end
