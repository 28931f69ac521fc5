# frozen_string_literal: true

require_relative "boot_signals"

module Penstock
  module Server
    # Turns signals into messages: a trap only enqueues and wakes. The main thread decides about them: {Launcher}, or in a
    # swarm its supervisor. Earlier traps are called too, and restored by {#restore}; but not those of the boot, which are
    # replaced ({BootSignals}). A HUP that was ignored when the process began (`nohup`) stays ignored.
    class Signals
      STOP = %w[INT TERM QUIT].freeze
      ALL = [*STOP, "HUP", "TSTP", "TTIN"].freeze

      # @param handler_of [#trap] Ruby's `Signal`, or a double of it
      # @param names [Array<String>] the signals to trap
      def initialize(handler_of = ::Signal, names: ALL)
        @traps = handler_of
        @names = names
        @queue = Thread::Queue.new
        @previous = {}
      end

      # Installs the traps.
      def install
        boot = BootSignals.current
        @names.each do |name|
          earlier = @traps.trap(name) { received(name) }
          @previous[name] = boot ? boot.behind(earlier) : earlier
        end
        @traps.trap("HUP", "IGNORE") if @previous["HUP"] == "IGNORE"
        boot&.give_way&.each { |name| received(name) if @names.include?(name) }
      end

      # Puts the earlier traps back.
      def restore
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
