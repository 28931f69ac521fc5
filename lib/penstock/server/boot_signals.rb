# frozen_string_literal: true

module Penstock
  module Server
    # Signals from the first line of a boot until the application has handlers of its own ({Signals#install}), with nothing in
    # between: to load an application, and to ask a cluster for its topics, may take long. Nothing has to end in order yet, so a
    # stop is the end of the process at once, with a clean code; what else the application answers is kept for it.
    #
    # Handlers belong to the process, so there is one of these at a time. On the main thread, where traps run; ends with the block
    # given to {.hold}, which puts back what was there before.
    class BootSignals
      class << self
        # @return [BootSignals, nil] what is held now
        attr_reader :current

        # @param stops [Array<String>] names that end the process
        # @param kept [Array<String>] names the application is told of once it runs
        # @param idle [Array<String>] names that mean nothing yet
        # @param code [Integer] of a stop
        # @param handler_of [#trap] Ruby's `Signal`, or a double of it
        # @return what the block returns
        def hold(stops:, code:, kept: [], idle: [], handler_of: ::Signal)
          @current = new(handler_of)
          @current.install(stops: stops, kept: kept, idle: idle, code: code)
          yield
        ensure
          @current&.restore
          @current = nil
        end
      end

      def initialize(handler_of)
        @traps = handler_of
        @before = {}
        @own = {}.compare_by_identity
        @early = []
      end

      # A HUP that was ignored when the process began (`nohup`) stays ignored.
      # @return [void]
      def install(stops:, kept:, idle:, code:)
        stops.each { |name| trap(name) { exit(code) unless @over } }
        kept.each { |name| trap(name) { @early << name unless @over } }
        idle.each { |name| trap(name) {} }
        @traps.trap("HUP", "IGNORE") if @before["HUP"] == "IGNORE"
      end

      # @param handler [Proc, String, nil] what the application's has taken the place of
      # @return [Proc, String, nil] what was there before the boot, where it is one of these
      def behind(handler) = @own.key?(handler) ? @before[@own[handler]] : handler

      # The application's handlers are there. Those of the boot may still be called by a handler that the boot file has put in
      # between; from here on they do nothing.
      # @return [Array<String>] what was kept
      def give_way
        @over = true
        @early.shift(@early.size)
      end

      # @return [void]
      def restore = @before.each { |name, handler| @traps.trap(name, handler || "DEFAULT") }

      private

      def trap(name, &handler)
        @own[handler] = name
        @before[name] = @traps.trap(name, handler)
      end
    end
  end
end
