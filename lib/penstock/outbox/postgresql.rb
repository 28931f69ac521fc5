# frozen_string_literal: true

require "digest"

module Penstock
  module Outbox
    # The PostgreSQL dialect. All locks are advisory and end with their transaction, so they also work with a connection pooler
    # that gives each transaction another session.
    class PostgreSQL
      # Detects a vanished host within half a minute instead of hours; ignored for a Unix socket.
      KEEPALIVE = {"tcp_keepalives_idle" => 10, "tcp_keepalives_interval" => 5, "tcp_keepalives_count" => 4}.freeze

      # @param database [Database]
      def initialize(database)
        @database = database
      end

      # SQL for the length of a column in bytes.
      def length(column) = "octet_length(#{column})"

      # Runs the block in a transaction while holding a lock, so that only one such block runs at a time. The block's own
      # writes are part of the transaction.
      #
      # If the database or the role defaults to a stricter isolation level, the snapshot of the transaction would be taken by
      # the query for the lock: the turn would read rows that the last holder has sent and deleted since.
      #
      # @return [Object, :busy] what the block returns; :busy when another process has the lock
      def exclusively(connection)
        own = connection.transaction_open? ? {requires_new: true} : {isolation: :read_committed}
        @database.model.transaction(**own) do
          next :busy unless connection.select_value("SELECT pg_try_advisory_xact_lock(#{relay_key})")

          KEEPALIVE.each { |name, value| connection.execute("SET LOCAL #{name} = #{value}") }
          yield
        end
      end

      # @raise [ActiveRecord::ActiveRecordError] the session was lost, and the lock with it
      def look_after(connection)
        connection.execute("SELECT 1")
      end

      # Another transaction that inserts a message of the same strand waits until this one has ended. Always locks in the same
      # order, so that two transactions that lock several strands don't deadlock.
      #
      # @param strands [Array<Integer>]
      def order(connection, strands)
        keys = strands.uniq.sort.map { |strand| key("strand #{strand}") }
        return if keys.empty?

        connection.execute("SELECT #{keys.map { |key| "pg_advisory_xact_lock(#{key})" }.join(", ")}")
      end

      # @return [Array<String>] why this table can't keep an order
      def problems(connection)
        cached = connection.select_value(<<~SQL)
          SELECT seqcache FROM pg_sequence
          WHERE seqrelid = pg_get_serial_sequence(#{connection.quote(@database.table)}, 'id')::regclass
        SQL
        return [] if cached.nil? || cached.to_i == 1

        ["the sequence of #{@database.table}.id has CACHE #{cached}: sessions reserve ids ahead, so ids don't show the " \
          "order. Run `ALTER SEQUENCE … CACHE 1`"]
      end

      private

      def relay_key = @relay_key ||= key("relay")

      # Advisory locks are numbers that all users of a database share.
      def key(purpose)
        Digest::SHA256.digest("penstock outbox #{@database.table} #{purpose}").unpack1("q>")
      end
    end
  end
end
