# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "database"
require_relative "writer"
require_relative "settings"
require_relative "store"

module Penstock
  # Sends messages if, and only if, a transaction of the application's database commits: {enqueue} writes them into a table,
  # within that transaction, and a {Relay} sends them from there, at least once, in order per key.
  #
  #     Order.transaction do
  #       order.save!
  #       Penstock::Outbox.enqueue(topic: "orders", key: order.id.to_s, payload: order.to_json)
  #     end
  #
  # Needs Active Record, with PostgreSQL or SQLite, and the table that `penstock outbox install` creates. See docs/outbox.md.
  module Outbox
    @lock = Mutex.new

    class << self
      # @return [#enqueued, #relaying, nil] learns of every call that has written rows, and of each producer that a relay
      #   creates: the testing kit's; nil outside of tests
      # @api private
      attr_accessor :observer

      # Sets all settings; those that the block doesn't set get their defaults. Doesn't connect.
      #
      # @yieldparam config [Settings]
      # @return [void]
      # @raise [ConfigurationError] lists every problem
      def setup
        settings = Settings.new
        yield settings
        settings.finish!
        @lock.synchronize do
          @writer = @database = nil
          @settings = settings
        end
      end

      # @return [Settings] frozen
      def config
        @settings || @lock.synchronize { @settings ||= Settings.new.finish! }
      end

      # Inserts a message into the table, as part of the current transaction.
      #
      # @param message [Hash] `topic`, `payload`, `key`, `headers`, `partition`, `partition_key`, `timestamp`: as {Producer}
      #   takes them
      # @return [Integer] id of its row
      # @raise [MessageInvalidError] with everything that is wrong with the message, a {MessageTooLargeError} if it is larger than
      #   `max_payload_size`; nothing was written
      # @raise [ConfigurationError] the table doesn't exist
      # @raise [ActiveRecord::ActiveRecordError]
      def enqueue(message) = write([message]).first

      # Inserts messages into the table, all or none.
      #
      # @param messages [Array<Hash>] as for {enqueue}
      # @return [Array<Integer>] ids of their rows, in the order of the messages
      # @raise (see #enqueue)
      def enqueue_many(messages) = write(messages)

      # Like {enqueue_many}, in a transaction of its own where none is open.
      #
      # @param messages [Array<Hash>]
      # @return [Array<Integer>]
      # @api private
      def enqueue_alone(messages) = database.model.transaction { write(messages) }

      # @yieldreturn [Producer] the relay's producer; without a block it is created as the settings specify
      # @return [Relay] a new one, not started yet
      def relay(&make_producer)
        require_relative "relay"
        make_producer ||= config.producer || method(:own_producer)
        Relay.new(store, config, monitor: Penstock.monitor) do
          make_producer.call.tap { |producer| observer&.relaying(producer) }
        end
      end

      # Starts a relay on a thread of this process.
      #
      # @return [Relay] {Relay#stop} ends it
      # @raise [ConfigurationError] the table can't keep an order, or doesn't exist
      def start = relay.start.tap { |relay| writer.relay = relay }

      # @return [Store::Lag] how many rows wait, and for how long
      def lag = database.with_table_hint { store.lag }

      # @param state ["parked", "aside", "ready", "held", "sent"]
      # @return [Array<Hash{String => Object}>] rows without their payload, the oldest first
      def rows(state, limit: 100) = database.with_table_hint { store.list(state.to_s, limit) }

      # Makes parked rows and rows that were set aside due now. A row that was set aside is sent after the later rows of its
      # key that weren't held.
      #
      # @param ids [Array<Integer>]
      # @return [Integer] how many there were
      def retry(*ids) = database.with_table_hint { store.retry(ids.flatten) }

      # Deletes rows that are parked or set aside: their messages are never sent, and later rows of their keys are no longer
      # held.
      #
      # @param ids [Array<Integer>]
      # @return [Integer] how many there were
      def discard(*ids) = database.with_table_hint { store.discard(ids.flatten) }

      # Deletes rows that were kept after delivery (`after_delivery: :keep`).
      #
      # @param older_than [Numeric] seconds since the delivery, from 0
      # @return [Integer] how many there were
      # @raise [ArgumentError] `older_than` isn't such a number; nothing was deleted
      def purge(older_than:)
        unless older_than.is_a?(Numeric) && older_than.to_f.finite? && !older_than.negative?
          raise ArgumentError, "older_than must be a number of seconds, at least 0, is #{older_than.inspect[0, 80]}"
        end

        database.with_table_hint { store.purge(Clock::SYSTEM.wall_ms - (older_than.to_f * 1_000).to_i) }
      end

      private

      # In what wraps calls of the application's producers, which may add headers. The writer refuses other objects than Arrays.
      def write(messages)
        application = Penstock.app if messages.is_a?(Array)
        return insert(messages) unless application

        application.extensions.producer_wrappers.call("outbox.enqueue", messages) { |own| insert(own) }
      end

      def insert(messages) = writer.enqueue(messages).tap { observer&.enqueued }

      def database
        settings = config
        @lock.synchronize { @database ||= Database.new(settings) }
      end

      def writer
        @writer || (made = Writer.new(database, config)) && @lock.synchronize { @writer ||= made }
      end

      def store = Store.new(database, config, Clock::SYSTEM)

      # The client doesn't duplicate messages itself, and undeliverable ones fail soon. It accepts every payload that {enqueue}
      # accepted, and those of rows from before the outbox's limit was lowered.
      def own_producer
        application = Penstock.app || raise(ConfigurationError.new([Problem.new("outbox: producer", "no application is defined",
          "Write `class PenstockApp < Penstock::App`, or configure a producer: config.producer = -> { … }")]))
        application.separate_producer do |own|
          own.max_payload_size = [own.max_payload_size, config.max_payload_size].max
          own.kafka = own.kafka.except(*REPLACED).merge(properties, size_limit(own))
        end
      end

      # Properties that a relay's producer doesn't take from the application: those for which it sets its own values, and those
      # whose value in the application may be incompatible with an idempotent producer.
      REPLACED = %i[transactional.id enable.idempotence linger.ms queue.buffering.max.ms message.timeout.ms delivery.timeout.ms
        topic.metadata.propagation.max.ms acks request.required.acks retries message.send.max.retries
        max.in.flight max.in.flight.requests.per.connection queuing.strategy].freeze
      private_constant :REPLACED

      # The client's own limit also counts key and headers. A broker refuses messages that are too large for the topic.
      def size_limit(own)
        enough = [own.max_payload_size + KEY_AND_HEADERS, LARGEST_LIMIT].min
        {"message.max.bytes": [own.kafka[:"message.max.bytes"].to_i, enough].max}
      end

      # Bytes.
      KEY_AND_HEADERS = 1_048_576
      # The highest value that librdkafka accepts.
      LARGEST_LIMIT = 1_000_000_000
      private_constant :KEY_AND_HEADERS, :LARGEST_LIMIT

      def properties
        {"enable.idempotence": true, "linger.ms": 0, "message.timeout.ms": config.send_timeout,
         "topic.metadata.propagation.max.ms": [config.send_timeout / 2, 1_000].max}
      end
    end
  end
end
