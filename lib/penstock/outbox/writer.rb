# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../on_demand"
require_relative "entry"
Penstock.load_constant :Producer

module Penstock
  module Outbox
    # Checks messages and inserts them as rows, in the caller's database transaction. Any thread may use it; stateless.
    class Writer
      # @return [Relay, nil] the relay of this process, which is woken when rows were committed
      attr_writer :relay

      # @param database [Database]
      # @param settings [Settings]
      # @param clock [Clock]
      def initialize(database, settings, clock: Clock::SYSTEM)
        @database = database
        @settings = settings
        @clock = clock
        @rules = Producer::MessageRules.new(max_payload_bytes: settings.max_payload_size)
      end

      # @param messages [Array<Hash>]
      # @return [Array<Integer>] ids of their rows
      # @raise [MessageInvalidError] a {MessageTooLargeError} if a payload is larger than `max_payload_size`
      def enqueue(messages)
        @database.connected do |connection|
          check(messages, connection)
          columns = messages.map { |message| Entry.columns(message, @clock.wall_ms) }
          @database.with_table_hint { write(connection, columns) }.tap { wake(connection) }
        end
      end

      private

      # Takes the locks first, so that ids are in the order in which the transactions of a key commit.
      def write(connection, columns)
        all_or_none(columns) do
          @database.dialect.order(connection, columns.filter_map { |row| row[:strand] }) if @settings.key_lock
          columns.map { |row| @database.insert(connection, row) }
        end
      end

      # A single row in the application's transaction needs no transaction of its own.
      def all_or_none(columns, &block)
        return yield if columns.size == 1 && @settings.require_transaction

        @database.model.transaction(&block)
      end

      def check(messages, connection)
        raise MessageInvalidError, "#{OTHER}#{messages.class}" unless messages.is_a?(Array)

        problems = messages.each_with_index.flat_map do |message, index|
          place = "message #{index} of the list: " if messages.size > 1
          Entry.problems(message, @rules).map { |problem| "#{place}#{problem}" }
        end
        problems << OUTSIDE if @settings.require_transaction && !connection.transaction_open?
        return if problems.empty?
        too_large = messages.any? { |message| @rules.too_large?(message) }
        raise too_large ? MessageTooLargeError : MessageInvalidError, "can't be added to the outbox: #{problems.join("; ")}"
      end

      OTHER = "several messages are given to the outbox as an Array of Hashes (enqueue takes a single one), not as "
      OUTSIDE = "the message isn't inside a database transaction: enqueue it in the `transaction` block that " \
        "makes the change it reports (config.require_transaction = false allows it outside)"
      private_constant :OTHER, :OUTSIDE

      # The relay can see rows only after they are committed.
      def wake(connection)
        relay = @relay or return
        transaction = connection.current_transaction
        transaction.respond_to?(:after_commit) ? transaction.after_commit { relay.wake } : relay.wake
      end
    end
  end
end
