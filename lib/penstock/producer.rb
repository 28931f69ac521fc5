# frozen_string_literal: true

require_relative "deadline"
require_relative "errors"
require_relative "native/producer"
require_relative "producer/aside"
require_relative "producer/buffer"
require_relative "producer/buffering"
require_relative "producer/connecting"
require_relative "producer/delivery/handle"
require_relative "producer/delivery/report"
require_relative "producer/disconnecting"
require_relative "producer/dispatching"
require_relative "producer/message_rules"
require_relative "producer/operations"
require_relative "producer/partition_counts"
require_relative "producer/preparation"
require_relative "producer/reloading"
require_relative "producer/settings"
require_relative "producer/shutdown"
require_relative "producer/status"
require_relative "producer/tombstones"
require_relative "producer/transacting"
require_relative "producer/variants"

module Penstock
  # Sends messages to Kafka.
  #
  #     producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:9092"} }
  #     producer.produce_sync(topic: "orders", key: "42", payload: "…")   # => Delivery::Report
  #     handle = producer.produce_async(topic: "orders", payload: "…")    # => Delivery::Handle
  #     handle.wait(timeout_ms: 5_000)                                    # => Delivery::Report
  #     producer.close
  #
  # One is enough for a process: any number of threads may use it. Its client, with the client's threads, is made by the
  # first call that needs it, so a producer that was only set up may be inherited by forked children, each of which gets a
  # client of its own. One that was used can't: {ForkedHandleError}. It ends with {#close}; messages still queued when a
  # process ends without it are lost.
  #
  # A message is a Hash: `topic` (String or Symbol), `payload` (String or nil), and optionally `key`, `partition`,
  # `partition_key`, `timestamp` (Time or ms), `headers` (values String, nil or Array of them), `label` (any object,
  # handed back with the report), `handle` (false: nobody will ask what became of it, which is cheaper).
  #
  # There are three outcomes. A call that raises {MessageInvalidError} or, from `*_async`, {ProduceError} has not sent the
  # message. A delivery error is final. A wait that times out says *unknown*: the message may still arrive.
  class Producer
    include Buffering
    include Connecting
    include Disconnecting
    include Dispatching
    include Reloading
    include Shutdown
    include Tombstones
    include Transacting
    include Variants

    # @return [Status]
    attr_reader :status
    # @return [Settings, nil] nil before setup
    attr_reader :config

    # @yieldparam config [Settings]
    # @raise [ConfigurationError] with everything that is wrong
    def initialize(&block)
      @status = Status::INITIAL
      @lock = Mutex.new
      @ended = ConditionVariable.new
      @buffer = Buffer.new
      @operations = Operations.new
      @revival = Mutex.new
      @reloads = 0
      @varied = false
      @variant_key = :"penstock_variant_#{object_id}"
      setup(&block) if block
    end

    # Configures it, once. Connects to nothing.
    #
    # @yieldparam config [Settings]
    # @return [void]
    # @raise [ConfigurationError] with everything that is wrong, or when it is configured already
    def setup
      raise ConfigurationError, "the producer #{id} is configured already: make another one" unless status.initial?

      settings = Settings.new
      yield settings
      @config = settings.finish!
      @monitor = config.monitor
      @middleware = config.middleware
      @counts = PartitionCounts.new
      @rules = MessageRules.new(max_payload_bytes: config.max_payload_size)
      make_transactions
      @preparation = Preparation.new(@rules, partitioner: config.kafka[:partitioner]) { |topic| partition_count(topic) }
      @status = Status::CONFIGURED
    end

    # @return [String, nil] nil before setup
    def id
      config&.id
    end

    # @return [Instrumentation::Monitor, nil]
    attr_reader :monitor

    # @return [Middleware] steps may be added until the first message
    attr_reader :middleware

    # Hands a message to the client and returns at once.
    #
    # @param message [Hash] see {Producer}
    # @return [Delivery::Handle, true] true for `handle: false`
    # @raise [MessageInvalidError] it isn't sent
    # @raise [ProduceError] the client refused it, for example because its queue stayed full: it isn't sent
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_async(message)
      return in_transaction { produce_async(message) } if outside?

      quick(message) || produce_async_carefully(message)
    end

    # Produces a message and waits for its report, without paying `linger.ms`. (While somebody waits, nothing this producer
    # sends lingers: for throughput next to synchronous calls, use a second producer.)
    #
    # @param message [Hash] see {Producer}
    # @return [Delivery::Report]
    # @raise [MessageInvalidError] it isn't sent
    # @raise [ProduceError] `cause` is the KafkaError, or a WaitTimeoutError when the outcome is unknown
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_sync(message)
      return in_transaction { produce_sync(message) } if outside?

      message = step_through(message)
      with_client do |sending|
        message = checked(message, sending)
        message = message.merge(handle: true) if message[:handle] == false
        instrument("message.produced_sync", message: message) do
          handle = sending.one(message, "message.produce_sync")
          sending.settle(handle, message, "message.produce_sync", wait_deadline)
        end
      end
    end

    # Hands messages to the client, all of which are checked before the first is sent.
    #
    # @param messages [Array<Hash>]
    # @param handle [Boolean] false: nobody will ask what became of them
    # @return [Array<Delivery::Handle>] in the order of the messages; true instead of each without handles
    # @raise [MessageInvalidError] none was sent
    # @raise [ProduceManyError] some were accepted: `dispatched`
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_many_async(messages, handle: true)
      produce_many_prepared(messages, run: true, handle: handle)
    end

    # Produces messages and waits for all their reports.
    #
    # @param messages [Array<Hash>] checked, all of them, before the first is sent
    # @return [Array<Delivery::Handle>] resolved, in the order of the messages
    # @raise [MessageInvalidError] none was sent
    # @raise [ProduceManyError] of the first failure, after all have been waited for; `dispatched` are the handles of those
    #   the client accepted: ask each what became of it
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_many_sync(messages)
      produce_many_prepared(messages, run: true, sync: true)
    end

    # @return [Integer] messages queued or in flight in the client; the buffer is not counted
    def queue_size
      connected = @client if @sending
      (connected && !status.closed?) ? connected.queue_size : 0
    rescue HandleClosedError
      0
    end
    alias_method :queue_length, :queue_size

    # @param topic [String, Symbol]
    # @return [Integer] how many partitions it has, -1 when that isn't known; kept for 30 s
    def partition_count(topic)
      topic = topic.to_s
      with_client do
        @counts.fetch(topic) { ask_partitions(topic) }
      end
    end

    # Waits until everything handed to the client was reported. The buffer is not touched.
    #
    # @param timeout_ms [Integer]
    # @return [Boolean] false when the time was over first
    def flush(timeout_ms = config.max_wait_timeout)
      with_client { Aside.call { @client.flush(timeout_ms) } }
    end

    # Throws away the buffer, and what is queued or in flight: those deliveries end with an error.
    #
    # @return [void]
    def purge
      with_client do
        messages = @buffer.take
        @client.purge
        Aside.call { @client.flush(config.max_wait_timeout) }
        instrument("buffer.purged", messages: messages.ready + messages.fresh) unless messages.empty?
      end
    end

    # @return [Boolean]
    def idempotent?
      transactional? || config.kafka[:"enable.idempotence"].to_s == "true"
    end

    # @return [Boolean]
    def transactional?
      !config.kafka[:"transactional.id"].nil?
    end

    # @return [(Integer, String), nil] number and text of the error that ended the client for good
    def fatal_error
      @client.fatal_error if @sending && !closed?
    rescue HandleClosedError
      nil
    end

    # @return [String] never waits, never connects, shows no secret
    def inspect
      "#<#{self.class} #{id || "not set up"} #{status} buffer_size=#{@buffer.size_or_busy}>"
    end

    private

    # The way of a message nobody has to look at: read, checked and queued in C. nil when there is any doubt.
    def quick(message)
      return if @client.nil? || @reporter.stale? || !middleware.empty? || varied? ||
        @monitor.subscribed?("message.produced_async")

      @client.dispatch(message)
    end

    def produce_async_carefully(message)
      message = step_through(message)
      with_client do |sending|
        message = checked(message, sending)
        instrument("message.produced_async", message: message) { sending.one(message, "message.produce_async") }
      end
    end

    # Once a message, however often it is offered to a client.
    def step_through(message)
      connect unless @sending && usable?
      middleware.run(message)
    rescue ProducerClosedError, ForkedHandleError, ConfigurationError
      raise
    rescue => error
      instrument("error.occurred", type: "producer.middleware.error", error: error, message: message)
      raise
    end

    # Ruby looks closer only at what the client has doubts about.
    def checked(message, sending)
      sending.plain_message?(message) ? message : @preparation.call(message)
    end

    # @param run [Boolean] whether middleware is still to be run
    def produce_many_prepared(messages, run:, sync: false, handle: true)
      return together { produce_many_prepared(messages, run: run, sync: sync, handle: handle) } if outside?

      connect unless @sending && usable?
      messages = messages.map { |message| step_through(message) } if run && !middleware.empty?
      with_client do |sending|
        messages = checked_all(messages, sending)
        sync ? send_and_settle(sending, messages) : send_all(sending, messages, handle)
      end
    end

    def checked_all(messages, sending)
      return messages if sending.plain?(messages)

      @preparation.call_all(messages).each { |message| sending.open_topic(message[:topic]) }
    end

    def send_all(sending, messages, handle)
      instrument("messages.produced_async", messages: messages) do
        sending.many(messages, "messages.produce_many_async", handles: handle)
      end
    end

    # What was accepted before an error is waited for all the same, so that `dispatched` are resolved.
    def send_and_settle(sending, messages)
      type = "messages.produce_many_sync"
      deadline = wait_deadline
      instrument("messages.produced_sync", messages: messages) do
        sending.many(messages, type).tap { |handles| sending.settle_all(handles, messages, type, deadline) }
      rescue ProduceManyError => error
        sending.await_all(error.dispatched, deadline)
        raise
      end
    end

    def wait_deadline
      Deadline.in(varied? ? current_variant.max_wait_timeout : config.max_wait_timeout)
    end

    def instrument(event, **payload, &block)
      monitor.instrument(event, {producer_id: id, **payload}, &block)
    end

    # Whatever properties a variant has opened it with.
    def open_for_question(client, topic)
      client.open_topic(topic)
    rescue KafkaError => error
      raise unless error.code == :conflict
    end

    # A query can't be interrupted; who waits for this thread can. A client that is replaced meanwhile says that it is closed.
    def ask_partitions(topic)
      client = @client
      open_for_question(client, topic)
      asking = Thread.new do
        Thread.current.report_on_exception = false
        client.query_partitions(topic, PartitionCounts::QUERY_TIMEOUT_MS)
      end
      asking.value
    end
  end
end
