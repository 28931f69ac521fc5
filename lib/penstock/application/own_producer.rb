# frozen_string_literal: true

require "monitor"
require_relative "../errors"
require_relative "../on_demand"

module Penstock
  class Application
    # Keeps the application's producer: created on first use, closed with the application. If the application's own code closes
    # it while the application consumes, it is replaced, because dead letters need it; a producer that was given to the
    # application (`config.producer=`) is never replaced. In another server's process it stays open until the process ends: the
    # server's own code may use it. Owned by the application; any thread.
    class OwnProducer
      # Time that messages in flight have at the end of the process (ms).
      EXIT_MS = 5_000
      private_constant :EXIT_MS

      # @param config [#call] returns {Config::Settings}
      # @param monitor [#call] returns {Instrumentation::Monitor}
      # @param factory [ProducerFactory]
      # @param lifecycle [Server::Lifecycle] enters `:initialized`: a process that only produces never runs the application
      def initialize(config:, monitor:, factory:, lifecycle:)
        @config = config
        @monitor = monitor
        @factory = factory
        @lifecycle = lifecycle
        @lock = ::Monitor.new
        @current = @own = nil
        @consuming = @stays = @released = false
        @lost = ObjectSpace::WeakMap.new
      end

      # @return [Producer] connects on first use
      def get = (@current && !closed_by_user?) ? @current : another

      # @param closed [Producer] a producer that can't send any more
      # @return [Producer, nil] its replacement; nil if it wasn't the application's, or wasn't replaced
      def replacement(closed)
        return unless closed.equal?(@current) || @lost.key?(closed)

        get.then { |one| one unless one.equal?(closed) }
      end

      # The application begins to consume: from now on a closed producer is replaced.
      # @param stays [Boolean] whether {#finish} leaves it open
      def consuming(stays: false)
        close_at_exit if stays
        @stays = stays
        @consuming = true
      end

      # Gives this node's settings to a producer that a boot file has already created: it has the supervisor's, which all nodes
      # would share.
      def reconfigure
        return if @current.nil? || @current.equal?(@config.call.producer)
        @current.reconfigure(@factory.settings.kafka)
      end

      # Called last when the application closes.
      def finish(timeout_ms) = @stays ? release(timeout_ms) : close(timeout_ms)

      def close(timeout_ms)
        @consuming = false
        @current&.close(timeout_ms: timeout_ms)
      end

      # Closes it if it was created in this process. Fork hands on an object whose client exists in the parent only.
      def close_here(timeout_ms)
        close(timeout_ms) if @current && @pid == ::Process.pid
      end

      private

      # The producer's own `at_exit`, which reports messages that are lost, runs after this one because it is registered before.
      def close_at_exit
        Penstock.load_constant :Producer
        at_exit { close_here(EXIT_MS) if @released }
      end

      # The process continues: waits for the messages in flight.
      def release(timeout_ms)
        @consuming = false
        @released = true
        @current.flush(timeout_ms) if @current&.queue_size&.positive?
      rescue ProducerClosedError
        nil # by the server's code, meanwhile
      end

      def closed_by_user? = @consuming && @current.equal?(@own) && @current.closed?

      # The state is entered before anything is locked, because listeners may use the producer, and only if the settings can be
      # read: the event is published once.
      def another
        @config.call
        @lifecycle.enter(:initialized)
        one, lost = @lock.synchronize do
          @pid = ::Process.pid
          lost = @current if @current && closed_by_user?
          @current = (given unless lost) || (@own = made_instead_of(lost)) if lost || @current.nil?
          [@current, lost]
        end
        report_lost(lost) if lost
        one
      end

      def given = @config.call.producer&.then { |producer| @factory.wrap(producer) }

      # Listeners and middleware steps of the lost one are kept for this one.
      def made_instead_of(lost)
        return @factory.build unless lost

        @lost[lost] = lost
        @factory.build(errors_reported: true) do |own|
          own.monitor = lost.monitor
          own.middleware = lost.middleware
        end
      end

      def report_lost(lost)
        error = ProducerClosedError.new("the producer #{lost.id} is the application's and was closed by its code while it " \
          "consumes. Remove that `close`: the application flushes and closes it when it stops")
        @monitor.call.instrument("error.occurred", {type: "producer.closed.error", error: error, producer_id: lost.id})
      end
    end
  end
end
