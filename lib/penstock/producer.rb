# frozen_string_literal: true

module Penstock; class Producer; end; end # its parts open it, too: see ON_DEMAND
require_relative "errors"
require_relative "producer/buffer"
require_relative "producer/buffering"
require_relative "producer/connection"
require_relative "producer/consumed_offset"
require_relative "producer/delivery/handle"
require_relative "producer/delivery/report"
require_relative "producer/message_builder"
require_relative "producer/message_rules"
require_relative "producer/off_thread"
require_relative "producer/partition_counts"
require_relative "producer/pending_work"
require_relative "producer/pipeline"
require_relative "producer/settings"
require_relative "producer/substitution"
require_relative "producer/tombstones"
require_relative "producer/transactional_sender"
require_relative "producer/transactions"
require_relative "producer/variant"
require_relative "producer/variant_scope"

module Penstock
  # Sends messages to Kafka.
  #
  #     producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:9092"} }
  #     producer.produce_sync(topic: "orders", key: "42", payload: "…")   # => Delivery::Report
  #     handle = producer.produce_async(topic: "orders", payload: "…")    # => Delivery::Handle
  #     handle.wait(timeout_ms: 5_000)                                    # => Delivery::Report
  #     producer.close
  #
  # One producer is enough for a process: any number of threads may use it. The first call that needs a client opens it, and
  # starts its threads. So forked children may inherit a producer that was only set up, and each gets a client of its own; one
  # that was used raises {ForkedHandleError} in a child. It ends with {#close}; messages that are still queued when a process
  # ends without it are lost.
  #
  # A message is a Hash: `topic` (String or Symbol), `payload` (String or nil), and optionally `key`, `partition`,
  # `partition_key`, `timestamp` (Time or ms), `headers` (values String, nil or Array of them), `label` (any object,
  # returned with the report), `handle` (false: no handle is needed, which is faster).
  #
  # There are three outcomes. A call that raises {MessageInvalidError} or, from `*_async`, {ProduceError} has not sent the
  # message. A delivery error is final. A wait that times out means *unknown*: the message may still arrive.
  class Producer
    include Buffering
    include Tombstones

    # @return [Instrumentation::Monitor, nil] nil before setup
    attr_reader :monitor
    # @return [Middleware, nil] steps may be added until the first message
    attr_reader :middleware

    # @yieldparam config [Settings]
    # @raise [ConfigurationError] lists every problem
    def initialize(&block)
      @connection = Connection.new(self)
      @buffer = Buffer.new
      @variants = VariantScope.new
      @substitution = Substitution.new(@connection)
      setup(&block) if block
    end

    # Sets the producer up, once. Doesn't connect.
    #
    # @yieldparam config [Settings]
    # @return [void]
    # @raise [ConfigurationError] with everything that is wrong, or if it is set up already
    def setup
      raise ConfigurationError, "the producer #{id} is configured already: create another one" unless status.initial?
      settings = Settings.new
      yield settings
      assemble(settings.finish!)
    end

    # @return [Status]
    def status = @connection.status

    # @return [Settings, nil] nil before setup
    def config = @connection.config

    # @return [String, nil] nil before setup
    def id = config&.id

    # Passes a message to the client and returns at once.
    #
    # @param message [Hash] see {Producer}
    # @return [Delivery::Handle, true] true for `handle: false`
    # @raise [MessageInvalidError] it isn't sent
    # @raise [ProduceError] the client refused it, for example because its queue stayed full: it isn't sent
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_async(message)
      fast = @middleware&.empty? && (@transactions.nil? || @transactions.current) && !@variants.current &&
        !@monitor.subscribed?("message.produced_async")
      # The fast path reads, checks and queues in C. It sends nothing, and returns nil, when there is any doubt.
      (@connection.dispatch(message) if fast) || pipeline.produce_async(message)
    end

    # Produces a message and waits for its report, without paying `linger.ms`. (While a call waits, nothing this producer
    # sends lingers: for throughput alongside synchronous calls, use a second producer.)
    #
    # @param message [Hash] see {Producer}
    # @return [Delivery::Report]
    # @raise [MessageInvalidError] it isn't sent
    # @raise [ProduceError] `cause` is the KafkaError, or a WaitTimeoutError when the outcome is unknown
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_sync(message) = pipeline.produce_sync(message)

    # Passes messages to the client; all are checked before the first is sent.
    #
    # @param messages [Array<Hash>]
    # @param handle [Boolean] false: no handles are needed
    # @return [Array<Delivery::Handle>] in the order of the messages; without handles, true for each message
    # @raise [MessageInvalidError] none was sent
    # @raise [ProduceManyError] some were accepted: `dispatched`
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_many_async(messages, handle: true) = pipeline.produce_many(messages, handle: handle)

    # Produces messages and waits for all their reports.
    #
    # @param messages [Array<Hash>] checked, all of them, before the first is sent
    # @return [Array<Delivery::Handle>] resolved, in the order of the messages
    # @raise [MessageInvalidError] none was sent
    # @raise [ProduceManyError] of the first failure, after waiting for all; `dispatched` has the handles of the messages that
    #   the client accepted, each with its outcome
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def produce_many_sync(messages) = pipeline.produce_many(messages, sync: true)

    # @return [Array<Hash>] a copy of the buffer
    def messages = @buffer.to_a

    # Waits until everything passed to the client was reported. The buffer is not affected.
    #
    # @param timeout_ms [Integer]
    # @return [Boolean] false when the time limit was reached first
    def flush(timeout_ms = config.max_wait_timeout)
      @connection.use { |_, client| OffThread.call { client.flush(timeout_ms) } }
    end

    # Discards the buffer and all messages queued or in flight: their deliveries end with an error.
    #
    # @return [void]
    def purge
      @connection.use do |_, client|
        messages = @buffer.take
        client.purge
        OffThread.call { client.flush(config.max_wait_timeout) }
        @connection.instrument("buffer.purged", messages: messages.to_a) unless messages.empty?
      end
    end

    # -- transactions: messages, and offsets, that become visible together or not at all --

    # Runs the block in a transaction and commits it at the end of the block. One transaction runs at a time: other threads and
    # fibers wait for their turn, even if they only produce. A block inside another block joins its transaction. An exception
    # in the block aborts the transaction and is raised again, except {AbortTransaction}.
    #
    # A producer with a `transactional.id` sends nothing outside of a transaction: a call outside of a block is a transaction of
    # its own, and waits for its commit.
    #
    # @yieldparam transaction [Transaction] also produces messages, in this block only
    # @return [Object, nil] what the block returns; nil after {AbortTransaction}
    # @raise [ProducerNotTransactionalError] it has no `transactional.id`
    # @raise [EarlyTransactionExitNotAllowedError] the block was left by return, break or throw: it is aborted
    # @raise [KafkaError] it could not begin, or was not committed; {FencedError} if another producer has taken over the id
    # @raise [WaitTimeoutError] the commit was not answered: the transaction may be committed or not
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def transaction(&block)
      @connection.ensure_configured
      unless transactional?
        raise ProducerNotTransactionalError, "the producer #{id} has no transactions: give it a transactional.id in its " \
          "config.kafka"
      end

      open = @transactions.current
      open ? yield(open) : @transactions.run(&block)
    end

    # @return [Boolean] whether the caller is inside of a transaction of this producer
    def transaction? = @transactions ? !@transactions.current.nil? : false

    # Adds the offset after a record to the transaction: it is committed for the group together with the messages, or not at
    # all.
    #
    # @param consumer [#group_metadata, Native::GroupMetadata] the consumer of the record
    # @param message [#topic, #partition, #offset]
    # @param offset_metadata [String, nil] stored with the offset
    # @return [void]
    # @raise [TransactionRequiredError] outside of a transaction
    # @raise [TransactionalOffsetInvalidError] the message has no offset, or the consumer no group
    # @raise [KafkaError] the group's coordinator refused it: the transaction can only be aborted
    def transaction_mark_as_consumed(consumer, message, offset_metadata = nil)
      unless transaction?
        raise TransactionRequiredError, "offsets can only be marked inside a transaction: wrap the call in `transaction { … }`"
      end

      row = [*ConsumedOffset.after(message), offset_metadata]
      @transactions.send_offsets([row], ConsumedOffset.group_of(consumer))
      @connection.instrument("transaction.marked_as_consumed", message: message, offset_metadata: offset_metadata)
    end

    # Adds offsets, with their metadata, to the transaction; for callers that keep track of offsets themselves.
    #
    # @api private
    # @param rows [Array<Array>] topic, partition, offset, metadata, leader epoch
    # @param group [Native::GroupMetadata]
    # @return [void]
    # @raise [KafkaError]
    def send_offsets(rows, group) = @transactions.send_offsets(rows, group)

    # @api private
    # @param transaction [Transaction]
    # @return [Symbol] how it ended, as far as that can be found out now: see {Transaction#fate}
    def settle_transaction(transaction) = @transactions.settle(transaction)

    # Ends transactions that an earlier owner of the id has left open, without waiting for the first transaction of this
    # producer.
    #
    # @api private
    # @return [void]
    def prepare_transactions = @transactions&.prepare

    # -- variants --

    # Returns a producer with other settings for some messages.
    #
    # @param changes [Hash]
    # @option changes [Integer] :max_wait_timeout ms a synchronous call waits for its report
    # @option changes [Hash{Symbol => Object}] :topic_config librdkafka's properties of the topics it sends to, out of
    #   {Variant::TOPIC_PROPERTIES}. librdkafka has one configuration per topic and client: if a topic is in use with other
    #   properties, the first message raises {VariantInvalidError}
    # @return [Variant] shares client and buffer with this producer
    # @raise [VariantInvalidError] with everything that is wrong
    # @raise [ConfigurationError] the producer isn't set up
    def with(**changes)
      @connection.ensure_configured
      @variants.use
      Variant.new(self, **changes)
    end
    alias_method :variant, :with

    # @return [Variant] whose settings apply to the calling fiber: the producer's own outside of any variant, and in
    #   listeners of delivery events
    def current_variant
      @variants.current || (@own_variant ||= Variant.new(self))
    end

    # @api private
    # @param variant [Variant] applies to the block, in this fiber
    def as(variant, &block) = @variants.within(variant, &block)

    # -- producing in two steps, for a thread that must never block --

    # Does everything that may take time, on any thread: runs middleware, checks the message, looks up the number of partitions
    # if a `partition_key` needs it, connects.
    #
    # @param message [Hash] see {Producer}
    # @return [Hash] the message for {#dispatch}
    # @raise [MessageInvalidError] the message can't be sent
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def ready(message) = pipeline.prepare(message)

    # Passes a message to the client. Runs neither user code nor listeners; waits only for a new client after the last one was
    # replaced. With a transactional producer another thread sends it in a transaction of its own: an open transaction belongs
    # to another caller and may be aborted.
    #
    # @param message [Hash] as {#ready} returned it
    # @param around [#call, nil] called by that thread; yields inside a transaction, which the message then belongs to
    # @return [Delivery::Handle, TransactionalSender::Handle, nil] nil when the queue is full. Every handle is resolved
    #   eventually, at the latest when the producer is closed
    # @raise [KafkaError] the client refused it
    # @raise [ProducerClosedError] the producer is closed, or was never connected
    def dispatch(message, around: nil)
      return @connection.try_dispatch(message) unless @transactional_sender
      raise ProducerClosedError, "the producer #{id} is #{status}" unless status.active?

      @transactional_sender.take(message, around)
    end

    # -- client --

    # @return [Native::Producer, DryClient, Object] the client; opened if there is none
    # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
    def client = @connection.use { |_, client| client }

    # Changes the properties of the first client. After a fork, with it a child configures a producer that its parent has
    # created.
    #
    # @api private
    # @param kafka [Config::KafkaHash] complete
    # @return [Boolean] false when a client was opened already: nothing has changed
    def reconfigure(kafka) = @connection.reconfigure(kafka)

    # Puts another client in the place of its own until {#restore}, see {Substitution}; for tests.
    # @api private
    # @param client [DryClient]
    # @return [Boolean] false if there is a substitute already
    def substitute(client) = @substitution.begin(client)

    # @api private
    def restore = @substitution.end

    # @return [Integer] messages queued or in flight in the client; the buffer is not counted
    def queue_size = @connection.queue_size
    alias_method :queue_length, :queue_size

    # @param topic [String, Symbol]
    # @return [Integer] number of partitions, -1 if unknown; cached for 30 s
    def partition_count(topic) = partitions(topic.to_s).count

    # @return [Boolean] whether the cluster has answered that there is no such topic, or that it may not be seen; cached for 30 s
    # @api private
    def missing?(topic) = partitions(topic.to_s).missing

    # @return [Boolean]
    def idempotent? = config.idempotent?

    # @return [Boolean]
    def transactional? = config.transactional?

    # @return [(Integer, String), nil] number and text of the fatal error that has ended the client
    def fatal_error = @connection.fatal_error

    # Closes the client, unless a message, call or transaction is in progress or the buffer has messages. Settings, middleware
    # and
    # listeners stay; the next call connects again.
    #
    # @return [Boolean] whether the client was closed
    def disconnect = @connection.disconnect

    # @return [Boolean] whether {#disconnect} would close the client now
    def disconnectable? = @connection.disconnectable?

    # Sends the buffer, waits for messages that are queued or in flight, then closes the client. Messages that aren't delivered
    # by then are discarded; a handle whose message may or may not have arrived ends as *unknown*. Undelivered messages are
    # counted, emitted as `producer.undelivered`, and passed to `config.undelivered`. It takes at most about a second longer
    # than its time limit; afterwards every delivery is resolved.
    #
    # May be called again, by any thread, by a listener, in `at_exit` and in a signal handler. In a forked child it only drops
    # the parent's client. A running transaction may finish within the time limit; no other begins.
    #
    # @param timeout_ms [Integer] milliseconds, default `max_wait_timeout`
    # @param force [Boolean] accepted for compatibility with Karafka; late messages are discarded in any case
    # @return [void]
    # @raise [ProducerTransactionalCloseAttemptError] called inside a transaction of this producer
    def close(timeout_ms: nil, force: false)
      if transaction?
        raise ProducerTransactionalCloseAttemptError, "the producer #{id} can't be closed inside its own transaction: " \
          "close it after the block"
      end

      @connection.close(timeout_ms || config&.max_wait_timeout || 0)
    end

    # Karafka's name for a {#close} with a time limit; {#close} always has one.
    # @param timeout_ms [Integer]
    # @return [void]
    def close!(timeout_ms: nil) = close(timeout_ms: timeout_ms)

    # @return [Boolean]
    def closed? = status.closed?

    # @return [String] never blocks, never connects, contains no secrets
    def inspect = "#<#{self.class} #{id || "not set up"} #{status} buffer_size=#{@buffer.size_or_busy}>"

    private

    def partitions(topic) = @connection.use { |_, client| @counts.fetch(topic) { PartitionCounts.query(client, topic) } }

    def assemble(settings)
      @monitor = settings.monitor
      @middleware = settings.middleware
      @counts = PartitionCounts.new
      @transactions = transactions_of(settings) if settings.transactional?
      @pipeline = Pipeline.new(@connection, middleware: middleware, builder: builder_of(settings), variants: @variants,
        buffer: @buffer, transactions: @transactions)
      @transactional_sender = sender_of(@pipeline) if settings.transactional?
      Unclosed.watch_buffer(@buffer, settings.id)
      @connection.configure(settings, PendingWork.new(transactions: @transactions, buffer: @buffer, pipeline: @pipeline))
    end

    def transactions_of(settings)
      Transactions.new(settings, Transactions::Port.new(client: method(:client), reload: @connection.method(:reload),
        sender: self))
    end

    def sender_of(pipeline)
      TransactionalSender.new { |messages| pipeline.send_prepared(messages).map(&:create_result) }
    end

    def builder_of(settings)
      rules = MessageRules.new(max_payload_bytes: settings.max_payload_size)
      MessageBuilder.new(rules, partitioner: @variants.partitioner(settings.kafka[:partitioner]), logger: settings.logger,
        &method(:partition_count))
    end

    # Raises before setup.
    def pipeline = @pipeline || @connection.ensure_open
  end
end
