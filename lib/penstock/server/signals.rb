# frozen_string_literal: true

require_relative "boot_signals"
require_relative "exit_codes"

module Penstock
  module Server
    # Turns signals into messages: a trap only enqueues and wakes. The main thread decides about them: {Launcher}, or in a
    # swarm its supervisor. Earlier traps are called too, and restored by {#restore}; but not those of the boot, which are
    # replaced ({BootSignals}). A HUP that was ignored when the process began (`nohup`) stays ignored.
    #
    # A process that the command line started is about to end after {#restore}: with Ruby's default handlers a late stop signal
    # would kill it before its sockets are deleted and its `at_exit` blocks have run. So the handlers stay. They no longer post
    # messages, and a third stop signal ends the process at once, as before.
    class Signals
      STOP = %w[INT TERM QUIT].freeze
      ALL = [*STOP, "HUP", "TSTP", "TTIN"].freeze

      # @param handler_of [#trap] Ruby's `Signal`, or a double of it
      # @param names [Array<String>] the signals to trap
      # @param exit_now [#call] ends the process at once with a code
      def initialize(handler_of = ::Signal, names: ALL, exit_now: ->(code) { exit!(code) })
        @traps = handler_of
        @names = names
        @exit_now = exit_now
        @stops = 0
        @queue = Thread::Queue.new
        @previous = {}
      end

      # Installs the traps.
      def install
        boot = BootSignals.current
        @stay = !boot.nil?
        @names.each do |name|
          earlier = @traps.trap(name) { received(name) }
          @previous[name] = boot ? boot.behind(earlier) : earlier
        end
        @traps.trap("HUP", "IGNORE") if @previous["HUP"] == "IGNORE"
        boot&.give_way&.each { |name| received(name) if @names.include?(name) }
      end

      # Called at the end of a run. Puts the earlier traps back, except in a process that the command line started.
      def restore
        return @ending = true if @stay
        @previous.each { |name, handler| @traps.trap(name, handler || "DEFAULT") }
        @previous = {}
      end

      # Posts something other than a signal to the main thread.
      # @param message [Object]
      def post(message) = @queue << message

      # @return [Object] the next signal's name, or the next posted message
      def wait = @queue.pop

      private

      # Runs in a trap: no lock, no log, no Kafka. Thread::Queue may be pushed to from a trap.
      def received(name)
        @stops += 1 if STOP.include?(name)
        return @stops < BootSignals::MOST_STOPS || @exit_now.call(ExitCodes::FORCED) if @ending
        @queue << name
        call_previous(name)
      end

      def call_previous(name)
        previous = @previous[name]
        previous.call if previous.respond_to?(:call)
      end
    end
  end
end
