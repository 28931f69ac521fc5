# frozen_string_literal: true

module Penstock
  module Outbox
    # The SQLite dialect. SQLite allows one write transaction at a time, so ids are in the order of commits anyway. A relay
    # must not hold that lock while it sends; it holds one on a file next to the database, which the kernel releases when the
    # process dies.
    class SQLite
      # Locks for databases in memory, which belong to one process.
      IN_MEMORY = Mutex.new
      private_constant :IN_MEMORY

      # @param database [Database]
      def initialize(database)
        @database = database
      end

      # SQL for the length of a column in bytes.
      def length(column) = "length(#{column})"

      # Runs the block while holding a lock, so that only one such block runs at a time. The block's writes are in transactions
      # of their own.
      #
      # @return [Object, :busy] what the block returns; :busy when another relay has the lock
      def exclusively(connection, &block)
        file = connection.select_rows("PRAGMA database_list").find { |_, name, _| name == "main" }&.last.to_s
        file.empty? ? in_memory(&block) : beside("#{file}-#{@database.table}.lock", &block)
      end

      def look_after(_connection)
      end

      def order(_connection, _strands)
      end

      # @return [Array<String>] why this table can't keep an order
      def problems(connection)
        sql = connection.select_value("SELECT sql FROM sqlite_master WHERE name = #{connection.quote(@database.table)}")
        return [] if sql.nil? || sql.match?(/AUTOINCREMENT/i)

        ["#{@database.table}.id isn't AUTOINCREMENT: SQLite reuses the ids of deleted rows. Create the table with the " \
          "migration that `penstock outbox install` writes"]
      end

      private

      def in_memory
        return :busy unless IN_MEMORY.try_lock

        begin
          yield
        ensure
          IN_MEMORY.unlock
        end
      end

      # Unlocked explicitly, not only by closing: a child that was forked meanwhile has the file open too.
      def beside(path)
        File.open(path, File::RDWR | File::CREAT) do |file|
          next :busy unless file.flock(File::LOCK_EX | File::LOCK_NB)

          begin
            yield
          ensure
            file.flock(File::LOCK_UN)
          end
        end
      end
    end
  end
end
