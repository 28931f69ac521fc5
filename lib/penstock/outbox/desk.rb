# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../producer"
require_relative "entry"

module Penstock
  module Outbox
    # Where messages are handed in: checks them, and writes them as rows of the transaction at hand. Any thread may use it;
    # keeps nothing.
    class Desk
      # @return [Relay, nil] one of this process, which is told when there is something to do
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
      # @raise [MessageInvalidError]
      def enqueue(messages)
        @database.connected do |connection|
          check(messages, connection)
          columns = messages.map { |message| Entry.columns(message, @clock.wall_ms) }
          @database.telling { write(connection, columns) }.tap { wake(connection) }
        end
      end

      private

      # The locks come first, so that ids are in the order in which the transactions of a key will commit.
      def write(connection, columns)
        all_or_none(columns) do
          @database.dialect.order(connection, columns.filter_map { |row| row[:strand] }) if @settings.key_lock
          columns.map { |row| @database.insert(connection, row) }
        end
      end

      # One row in the application's transaction needs none of its own.
      def all_or_none(columns, &block)
        return yield if columns.size == 1 && @settings.require_transaction

        @database.model.transaction(&block)
      end

      def check(messages, connection)
        problems = messages.each_with_index.flat_map do |message, index|
          place = "message #{index} of the list: " if messages.size > 1
          Entry.problems(message, @rules).map { |problem| "#{place}#{problem}" }
        end
        problems << OUTSIDE if @settings.require_transaction && !connection.transaction_open?
        raise MessageInvalidError, "can't be put into the outbox: #{problems.join("; ")}" unless problems.empty?
      end

      OUTSIDE = "there is no transaction that it could be part of: write it next to what it tells of, in a block of " \
        "`transaction` (config.require_transaction = false allows it)"
      private_constant :OUTSIDE

      # Only once it is committed is there something to see.
      def wake(connection)
        relay = @relay or return
        transaction = connection.current_transaction
        transaction.respond_to?(:after_commit) ? transaction.after_commit { relay.wake } : relay.wake
      end
    end
  end
end
