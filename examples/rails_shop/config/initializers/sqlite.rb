# frozen_string_literal: true

# Before Rails 8, a thread that waits for SQLite's write lock (`timeout` in database.yml) stops all threads of its process, also
# the one that holds the lock. This waits as long, and lets the others run.
module WaitForSqlite
  private

  def configure_connection
    super
    @raw_connection.busy_handler { |count| count < 4_000 && sleep(0.005) }
  end
end

ActiveSupport.on_load(:active_record_sqlite3adapter) { prepend WaitForSqlite } if Rails::VERSION::MAJOR < 8
