# frozen_string_literal: true

require "monitor"
require_relative "../errors"
require_relative "../on_demand"

module Penstock
  class Application
    # Keeps the application's producer: created on first use, closed with the application. If the application's own code closes
    # it while the application consumes, it is replaced, because dead letters need it; a producer that was given to the
    # application (`config.producer=`) is never replaced. In another server's process it stays open until the process ends: the
    # server's own code may use it. A forked child of a process that has used or closed it gets one of its own. Owned by the
    # application; any thread.
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
      # @raise [ForkedHandleError] this is a forked child, which can't have one of its own: see {#refuse_to_fence}, {#given}
      def get = (@current && @pid == ::Process.pid && !closed_by_user?) ? @current : another

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
      # A forked child inherits it, for the producer of its own.
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
          parents = left_to_parent if @current && @pid != ::Process.pid
          lost = @current if @current && !parents && closed_by_user?
          replaced = lost || parents
          @current = (given unless lost) || (@own = made_instead_of(replaced)) if replaced || @current.nil?
          @pid = ::Process.pid
          [@current, lost]
        end
        report_lost(lost) if lost
        one
      end

      # Called in a forked child. A producer that its parent has only created works here, with a client of its own. One that the
      # parent has used or closed is forgotten, not closed: client and messages are the parent's.
      # @return [Producer, Object, nil] the one to replace
      def left_to_parent
        @released = @stays
        own = @current.equal?(@own)
        usable = !inherited?(@current) && !(own && @current.closed?)
        return if usable

        refuse_to_fence(@current) if own
        @current
      end

      # The client of another process refuses every use.
      def inherited?(producer)
        producer.queue_size if producer.respond_to?(:queue_size)
        false
      rescue ForkedHandleError
        true
      end

      # With the same id, this process's producer would end the parent's, whose transactions are then aborted.
      def refuse_to_fence(parents)
        return unless parents.transactional? && !parents.closed?

        id = @factory.settings.kafka[:"transactional.id"]
        return unless id == parents.config.kafka[:"transactional.id"]

        raise ForkedHandleError, "the application's producer was used by process #{@pid} before this one was forked, which " \
          "can't have another with the same transactional.id, #{id.inspect}: it would end that one's transactions. Give each " \
          "process an id of its own in a block of config.producer, which is called again here; or produce only after the fork"
      end

      # @raise [ForkedHandleError] it is the parent's
      def given
        return unless (producer = @config.call.producer)
        return @factory.wrap(producer) unless inherited?(producer)

        raise ForkedHandleError, "the producer that config.producer was set to was used before this process was forked. Set " \
          "another one in the child before its first message, with setup { |config| config.producer = … }; or remove that " \
          "setting: the application's own producer is replaced in a child"
      end

      # Listeners and middleware steps of the lost one are kept for this one.
      # @param lost [Producer, Object, nil] another than the application's own has none of its
      def made_instead_of(lost)
        return @factory.build unless lost&.equal?(@own)

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
