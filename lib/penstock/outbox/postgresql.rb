# frozen_string_literal: true

require "digest"

module Penstock
  module Outbox
    # What is special about PostgreSQL. All locks are advisory and end with their transaction, so they also work behind a
    # pooler that gives each transaction another session.
    class PostgreSQL
      # A host that vanished is noticed in half a minute instead of hours; a server on a socket of this machine ignores it.
      KEEPALIVE = {"tcp_keepalives_idle" => 10, "tcp_keepalives_interval" => 5, "tcp_keepalives_count" => 4}.freeze

      # @param database [Database]
      def initialize(database)
        @database = database
      end

      # SQL for how many bytes a column has.
      def length(column) = "octet_length(#{column})"

      # Runs the block in a transaction that nobody else's block runs beside. The block's own writes are part of it.
      #
      # Where a transaction sees what it saw first, which a database or a role may have as its default, the question for the lock
      # would be that: the turn would read rows that the last holder has sent and deleted since.
      #
      # @return [Object, :busy] what the block returns; :busy when somebody else is at it
      def exclusively(connection)
        own = connection.transaction_open? ? {requires_new: true} : {isolation: :read_committed}
        @database.model.transaction(**own) do
          next :busy unless connection.select_value("SELECT pg_try_advisory_xact_lock(#{relay_key})")

          KEEPALIVE.each { |name, value| connection.execute("SET LOCAL #{name} = #{value}") }
          yield
        end
      end

      # @raise [ActiveRecord::ActiveRecordError] the session is gone, and the lock with it
      def look_after(connection)
        connection.execute("SELECT 1")
      end

      # Whoever puts in a message of the same strand waits until this transaction has ended. Always in the same order, so
      # that two that take several don't wait for each other.
      #
      # @param strands [Array<Integer>]
      def order(connection, strands)
        keys = strands.uniq.sort.map { |strand| key("strand #{strand}") }
        return if keys.empty?

        connection.execute("SELECT #{keys.map { |key| "pg_advisory_xact_lock(#{key})" }.join(", ")}")
      end

      # @return [Array<String>] why order can't be kept in this table
      def problems(connection)
        cached = connection.select_value(<<~SQL)
          SELECT seqcache FROM pg_sequence
          WHERE seqrelid = pg_get_serial_sequence(#{connection.quote(@database.table)}, 'id')::regclass
        SQL
        return [] if cached.nil? || cached.to_i == 1

        ["the sequence of #{@database.table}.id has CACHE #{cached}: sessions take ids ahead, so that they say nothing about " \
          "order. Run `ALTER SEQUENCE … CACHE 1`"]
      end

      private

      def relay_key = @relay_key ||= key("relay")

      # Advisory locks are numbers that all of a database's users share.
      def key(purpose)
        Digest::SHA256.digest("penstock outbox #{@database.table} #{purpose}").unpack1("q>")
      end
    end
  end
end
