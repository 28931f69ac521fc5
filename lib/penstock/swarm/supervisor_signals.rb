# frozen_string_literal: true

require_relative "../server/signals"

module Penstock
  module Swarm
    # Queues the supervisor's signals, and other messages for its main thread, with a pipe that `IO.select` can wait for.
    #
    # Children inherit the handlers until they install their own. Until then a signal is recorded for the child ({#early}) and
    # the supervisor, whose pipe the child still has, isn't woken.
    class SupervisorSignals < Server::Signals
      # USR1 is included for children ({NodeSignals::HURRY}); the supervisor ignores it.
      NAMES = [*STOP, "TSTP", "TTIN", "USR1", "USR2", "HUP"].freeze

      # @return [Array<String>] in a child: signals that came before its own handlers
      attr_reader :early
      # @return [Hash{String => Object}] the traps from before these handlers
      attr_reader :previous

      # @param handler_of [#trap]
      # @param children [Boolean] whether SIGCHLD must wake it too, where children have no descriptors
      def initialize(handler_of = ::Signal, children: false)
        super(handler_of, names: children ? [*NAMES, "CHLD"] : NAMES)
        @owner = ::Process.pid
        @early = []
        @reader, @writer = IO.pipe
      end

      # @return [IO] readable when there is something to take
      def io = @reader

      # Any thread.
      def post(message)
        super
        wake
      end

      # @return [Array] the messages, in order; never waits
      def take_all
        @reader.read_nonblock(1_024, exception: false)
        messages = []
        messages << @queue.pop until @queue.empty?
        messages
      end

      # Calls the block, and leaves it in the middle when a stop signal comes: it may take long, and nothing must be stopped in
      # order yet. The signal remains to be taken. On the main thread, where traps run. The throw may be replaced by another
      # error: RubyGems' `require` raises one when it is left at the wrong time.
      # @return [void]
      def until_stop
        catch(self) do
          @thrown = false
          @interrupted = Thread.current
          yield
        rescue StandardError, ScriptError
          raise unless @thrown
        ensure
          @interrupted = nil
        end
      end

      def close = [@reader, @writer].each(&:close)

      private

      def received(name)
        return @early << name unless ::Process.pid == @owner
        super
        wake
        interrupt if STOP.include?(name) && @interrupted == Thread.current
      end

      # Only once: after the block there may be no `catch` for a second one.
      def interrupt
        @interrupted = nil
        @thrown = true
        throw self
      end

      # A full pipe wakes as well.
      def wake
        @writer.write_nonblock(".", exception: false)
      rescue IOError # closed
        nil
      end
    end
  end
end
