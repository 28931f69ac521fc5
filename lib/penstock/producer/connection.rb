# frozen_string_literal: true

require_relative "../clock"
require_relative "../config/kafka_hash"
require_relative "../deadline"
require_relative "../errors"
require_relative "off_thread"
require_relative "open_client"
require_relative "operations"
require_relative "reporter"
require_relative "status"
require_relative "undelivered"

module Penstock
  class Producer
    # Opens, replaces, disconnects and closes a producer's client, while any number of threads use it.
    #
    # Owned by its {Producer}, used by all threads of the process; it ends with {#close}. The first call that needs a client
    # opens one; so does the first call after the client was replaced or disconnected.
    #
    # Locks, in the order in which they are taken (a thread may hold the lock of {Transactions} before all of them):
    #
    # * `@replacing` is held by the thread that replaces the client of an idempotent producer after a fatal error, also while
    #   listeners of the replacement run. Other threads that were refused wait for it.
    # * `@lock` guards the status, the settings and which client is open. No listener runs while it is held. `@ended` is its
    #   condition: the close is complete.
    # * Under `@lock`: the locks of {OpenClient}, {Reporter}, {IdleWatch} and {Buffer}, which take no other.
    #
    # A reporter's thread is joined with none of these locks held: its listener may be in a call that waits for one of them.
    class Connection
      # How long a client that had a fatal error may take to deliver messages in flight, in ms.
      LAST_FLUSH_MS = 1_000
      # How much longer than its time limit a signal handler waits for a close, in ms.
      TRAP_MARGIN_MS = 5_000

      # @return [Status]
      attr_reader :status
      # @return [Settings, nil] nil before {#configure}
      attr_reader :config

      # @param producer [Producer] the `caller` of its events
      def initialize(producer)
        @producer = producer
        @status = Status::INITIAL
        @lock = Mutex.new
        @ended = ConditionVariable.new
        @operations = Operations.new
        @replacing = Mutex.new
        @replaced = 0
        @current = @substitute = nil # the open client; nil when the next call has to open one
        @latest = nil # the last client that was opened; replaced and disconnected ones stay here
      end

      # Called once, by the producer's setup.
      # @param settings [Settings]
      # @param pending [PendingWork] the producer's work besides its client
      # @return [void]
      def configure(settings, pending)
        @config = settings
        @pending = pending
        @status = Status::CONFIGURED
      end

      # Changes the properties of the first client.
      # @param kafka [Config::KafkaHash] complete
      # @return [Boolean] false when a client was opened already: nothing has changed
      def reconfigure(kafka)
        @lock.synchronize { status.configured?.tap { |early| @config = config.with_kafka(kafka) if early } }
      end

      # @return [String, nil]
      def id = config&.id

      # @return [Instrumentation::Monitor, nil]
      def monitor = config&.monitor

      # Emits an event of the producer.
      def instrument(event, **payload, &block)
        @config.monitor.instrument(event, {producer_id: @config.id, **payload}, &block)
      end

      # -- use --

      # @return [void]
      # @raise [ConfigurationError] it isn't set up
      def ensure_configured = status.initial? && open

      # Opens nothing.
      #
      # @return [void]
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def ensure_usable = status.active? || usable? || open

      # @return [void]
      # @raise [ProducerClosedError, ConfigurationError] the producer can't be used
      def ensure_open = (@current && usable?) || open

      # Yields with the client open. If the client is closed meanwhile: calls the block again if the client was replaced, since
      # the old one has sent nothing of this call; otherwise raises.
      # @param topic_config [Hash{String => String}, nil] of the calling fiber's variant
      # @yieldparam dispatcher [Dispatcher]
      # @yieldparam client [Native::Producer, DryClient, Object]
      # @return [Object] what the block returns
      # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
      def use(topic_config = nil)
        @operations.run do
          ensure_open
          current = @current or raise HandleClosedError, "the client was replaced"
          current.reporter.refresh if current.reporter.stale?
          yield current.dispatcher_for(topic_config), current.client
        rescue HandleClosedError => error
          raise if error.is_a?(ProducerClosedError)
          retry if replaced?(current)

          raise ProducerClosedError, "the producer #{id} is closed: create a new one", cause: error
        end
      end

      # The fast path, in C.
      # @param message [Hash]
      # @return [Delivery::Handle, true, nil] nil if nothing was sent: the message has to be checked in Ruby, or no client is
      #   open
      def dispatch(message)
        latest = @latest
        latest.client.dispatch(message) if latest && !latest.reporter.stale?
      end

      # Passes a prepared message to the client without waiting for room; waits only for a new client after a replacement.
      # @param message [Hash]
      # @return [Delivery::Handle, nil] nil when the queue is full
      # @raise [KafkaError, ProducerClosedError] the client refused it; the producer is closed, or was never connected
      def try_dispatch(message)
        raise ProducerClosedError, "the producer #{id} is #{status}" unless @latest && status.active?

        open until (current = @current)
        current.dispatcher.try(message)
      rescue KafkaError => error
        replace_in_background(current, error) if error.code == :fatal
        raise
      rescue HandleClosedError => error
        raise if error.is_a?(ProducerClosedError)

        raise ProducerClosedError, "the producer #{id} is closed", cause: error
      end

      # @return [Integer] messages queued or in flight in the client
      def queue_size = status.closed? ? 0 : @current&.queue_size || 0

      # @return [(Integer, String), nil] number and text of the fatal error that has ended the client
      def fatal_error = status.closed? ? nil : @current&.fatal_error

      # Replaces everything that belongs to a client, see {Substitution}.
      # @param state [Array]
      # @param substitute [DryClient, nil] used instead of clients that the settings specify
      # @return [Array] the previous state
      def exchange(state, substitute)
        @lock.synchronize do
          before = [@current, @latest, @status, @closer, @config, @replaced]
          @current, @latest, @status, @closer, @config, @replaced = state
          @substitute = substitute
          before
        end
      end

      # -- disconnecting: the next call opens another client --

      # @return [Boolean] whether the client was closed; false if messages or calls were in progress
      def disconnect
        return false unless disconnectable?

        instrument("producer.disconnecting")
        started_us = Clock::SYSTEM.monotonic_us
        reporter = @pending.between_transactions { @lock.synchronize { close_idle } }
        return false unless reporter

        reporter.join(Reporter::LISTENERS_MS)
        instrument("producer.disconnected", time: (Clock::SYSTEM.monotonic_us - started_us) / 1_000.0)
        true
      rescue ProducerClosedError
        false
      end

      # @return [Boolean] whether {#disconnect} would close the client now
      def disconnectable? = status.connected? && @pending.no_transaction? && @operations.none? && @pending.nothing_buffered? &&
        queue_size.zero?

      # -- replacing: the next call opens another client --

      # Drops a client after a fatal error. A closing producer keeps its client: there is nothing left for another one to send.
      #
      # Called by the thread that has the transaction, or that holds `@replacing`. Listeners of `producer.reload` may change
      # `kafka`, for example its `transactional.id`, or that of `config`; the new client gets it.
      # @param error [KafkaError]
      # @param attempt [Integer]
      # @param flush_ms [Integer]
      # @return [Reporter, nil] the old client's, which the caller has to join once it holds no lock
      def reload(error, attempt, flush_ms: 0)
        kafka = Penstock::Config::KafkaHash.from(config.kafka)
        changing(kafka) { instrument("producer.reload", error: error, attempt: attempt, caller: @producer, kafka: kafka) }
        released = @lock.synchronize { release(kafka) } or return
        released.client.close(flush_ms)
        instrument("producer.reloaded", attempt: attempt)
        released.reporter
      end

      # -- closing --

      # May be called again, by any thread, by a listener, in `at_exit` and in a signal handler.
      # @param timeout_ms [Integer]
      # @return [void]
      def close(timeout_ms)
        return OffThread.limited(timeout_ms + TRAP_MARGIN_MS) { close(timeout_ms) } if in_trap?

        deadline = Deadline.in(timeout_ms)
        begin_close ? end_with(deadline) : await_close(deadline)
        nil
      end

      private

      # During a close only the closing thread may produce, for the last flush.
      def usable? = status.connected? || (status.closing? && @closer.equal?(Thread.current))

      # @param opened [OpenClient, nil] with which a call began
      def replaced?(opened) = status.configured? || status.disconnected? || (status.connected? && !opened.equal?(@latest))

      def open
        raise ConfigurationError, "the producer isn't set up: give `Producer.new` a block, or call `setup`" if status.initial?

        opened = @lock.synchronize do
          raise ProducerClosedError, "the producer #{id} is #{status}: create a new one" unless status.active? || usable?

          @current ? false : open_client
        end
        instrument("producer.connected") if opened
      end

      # Must be called with the lock held.
      def open_client
        @current = @latest = OpenClient.new(config, self, client: @substitute) { |client, error| revive(client, error) }
        @status = Status::CONNECTED unless status.closing?
        true
      end

      # -- disconnecting --

      # Must be called with the lock held, so that a thread that wants to open a client waits. Earlier calls are counted.
      #
      # @return [Reporter, nil] nil when messages or calls are in progress
      def close_idle
        return unless status.connected?

        @status = Status::DISCONNECTING
        return unless @operations.none? && @pending.nothing_buffered? && @current.client.close_idle

        idle = forget_current
        @status = Status::DISCONNECTED
        idle.reporter
      ensure
        @status = Status::CONNECTED if status.disconnecting?
      end

      # -- replacing --

      # During the block `config.kafka` is this Hash, which isn't frozen: users of WaterDrop change it there.
      def changing(kafka)
        before, changeable = config, config.with_kafka(kafka, changeable: true)
        @lock.synchronize { @config = changeable }
        yield
      ensure
        @lock.synchronize { @config = before if config.equal?(changeable) }
      end

      # Must be called with the lock held.
      #
      # @return [OpenClient, nil] which the caller has to close
      def release(kafka)
        return unless status.connected?

        @config = config.with_kafka(kafka) unless kafka == config.kafka
        released = forget_current
        @status = Status::CONFIGURED
        released
      end

      # Must be called with the lock held.
      def forget_current
        @current.stop_watching
        @current.tap { @current = nil }
      end

      # Replaces the client of an idempotent producer. A refused message was not sent, so another client may take it. The first
      # thread whose message was refused replaces the client, the others wait for it. A listener of the replacement that
      # produces gets the error of the old client.
      # @param client [Native::Producer] that refused a message
      # @param error [KafkaError] the fatal error of that client
      # @return [Boolean] whether there is another client now
      def revive(client, error)
        return false unless config.revivable? && !@replacing.owned?

        reporter = @replacing.synchronize { replace(client, error) if current?(client) }
        return status.active? && !current?(client) unless reporter

        reporter.join(Reporter::LISTENERS_MS)
        pause_after_reload
        true
      end

      def replace_in_background(current, error)
        Thread.new { current.dispatcher.replace_client(error) }.name = "penstock reload" if current && config.revivable?
      end

      def current?(client) = status.connected? && client.equal?(@latest.client)

      # Counts replacements until a client has delivered a message.
      #
      # @return [Reporter, nil] nil if the client is kept
      def replace(client, error)
        @replaced = 0 if client.counts.first.positive?
        return if !config.reloadable?(error) || @replaced >= config.max_attempts_on_idempotent_fatal_error

        @replaced += 1
        instrument("error.occurred", type: "librdkafka.idempotent_fatal_error", error: error, attempt: @replaced)
        reload(error, @replaced, flush_ms: LAST_FLUSH_MS)
      end

      # A close ends the pause.
      def pause_after_reload
        deadline = Deadline.in(config.wait_backoff_on_idempotent_fatal_error)
        await_end(deadline) { !status.active? }
      end

      # -- closing --

      # @return [Boolean] true if this call does the closing
      def begin_close
        @lock.synchronize do
          return false if @closer || status.closed?

          @closer = Thread.current
          true
        end
      end

      # Other threads may produce until the running transaction has ended.
      def end_with(deadline)
        @pending&.end_transactions(deadline)
      ensure
        @lock.synchronize { @status = Status::CLOSING }
        end_client(deadline)
      end

      def end_client(deadline)
        return unless monitor

        instrument("producer.closing")
        instrument("producer.closed") { close_client(deadline) }
      ensure
        finish
      end

      def finish
        @lock.synchronize do
          @status = Status::CLOSED
          @ended.broadcast
        end
      end

      def close_client(deadline)
        return @current.client.close(0) if @current&.inherited? # the messages of the parent's client are the parent's to send
        undelivered = Undelivered.new(config)
        undelivered.count(@current.client) if @current
        @current&.dispatcher&.end_by(deadline)
        refused = @pending.flush
        late = @current&.close(deadline)
      ensure # an interrupted thread waits no longer, but reports what isn't delivered
        late ||= @current&.close(Deadline.in(0)) if undelivered
        undelivered&.report(@current&.client, @pending.take_buffered, late: late.to_i, refused: refused || {})
      end

      # The closing thread waits for the reporter, so a listener can't wait for the closing thread.
      def await_close(deadline)
        return if @closer.equal?(Thread.current) || Thread.current.equal?(@latest&.reporter&.thread)

        await_end(deadline) { status.closed? }
      end

      def await_end(deadline)
        @lock.synchronize { @ended.wait(@lock, deadline.remaining_ms / 1_000.0) until yield || deadline.expired? }
      end

      # Whether this is a signal handler, where no lock can be taken.
      def in_trap?
        @lock.synchronize { false }
      rescue ThreadError
        !@lock.owned?
      end
    end
  end
end
