# frozen_string_literal: true

module Penstock
  module Outbox
    # What is special about SQLite. It lets one transaction write at a time, so ids are in the order of commits by themselves.
    # A relay must not hold that lock while it sends; it holds one on a file beside the database, which the kernel takes from
    # it when its process dies.
    class SQLite
      # Relays of databases in memory, which belong to one process.
      IN_MEMORY = Mutex.new
      private_constant :IN_MEMORY

      # @param database [Database]
      def initialize(database)
        @database = database
      end

      # SQL for how many bytes a column has.
      def length(column) = "length(#{column})"

      # Runs the block while nobody else's block runs. What it writes is in transactions of its own.
      #
      # @return [Object, :busy] what the block returns; :busy when somebody else is at it
      def exclusively(connection, &block)
        file = connection.select_rows("PRAGMA database_list").find { |_, name, _| name == "main" }&.last.to_s
        file.empty? ? in_memory(&block) : beside("#{file}-#{@database.table}.lock", &block)
      end

      def look_after(_connection)
      end

      def order(_connection, _strands)
      end

      # @return [Array<String>] why order can't be kept in this table
      def problems(connection)
        sql = connection.select_value("SELECT sql FROM sqlite_master WHERE name = #{connection.quote(@database.table)}")
        return [] if sql.nil? || sql.match?(/AUTOINCREMENT/i)

        ["#{@database.table}.id isn't AUTOINCREMENT: SQLite gives the ids of deleted rows to new ones. Make the table by the " \
          "migration of `penstock outbox install`"]
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

      # Unlocked by name, not only by closing: a child that was forked meanwhile has the file open too.
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
