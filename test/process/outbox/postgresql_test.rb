# frozen_string_literal: true

require "test_helper"
require "support/outbox_contract"
require "support/outbox_order_contract"
require "support/outbox_on_postgresql"

# The outbox on PostgreSQL: a server of its own.
class OutboxPostgreSQLTest < Penstock::TestCase
  include Penstock::TestSupport::OutboxContract
  include Penstock::TestSupport::OutboxOrderContract
  include Penstock::TestSupport::OutboxOnPostgreSQL

  test "messages of a key are sent in the order of commits, even if another order was used to store them" do
    second = nil
    ActiveRecord::Base.transaction do
      @writer.enqueue([{topic: "orders", payload: "1", key: "k"}])
      second = in_a_transaction { @writer.enqueue([{topic: "orders", payload: "2", key: "k"}]) }
      wait_until(40, "the second transaction to wait for the first") { waiting_for_a_lock == 1 }
      @writer.enqueue([{topic: "orders", payload: "1b", key: "k"}])
    end
    second.join
    relay.drain

    assert_equal %w[1 1b 2], @log.payloads
  end

  test "transactions with other keys don't wait for each other, and a smaller id that comes late is sent" do
    release = Thread::Queue.new
    inside = Thread::Queue.new
    late = in_a_transaction do
      @writer.enqueue([{topic: "orders", payload: "late", key: "a"}])
      inside << true
      release.pop
    end
    inside.pop
    put("early", key: "b")
    first = relay.drain
    release << true
    late.join

    assert_equal 1, first
    assert_equal 1, relay.drain
    assert_equal %w[early late], @log.payloads
    assert_equal [2, 1], @log.stored.map { |message| message[:headers]["penstock-outbox-id"].to_i }.then { |ids| ranks(ids) }
  end

  test "without the lock of the key visible rows are sent, and the others once they are visible" do
    use(key_lock: false)
    release = Thread::Queue.new
    inside = Thread::Queue.new
    late = in_a_transaction do
      @writer.enqueue([{topic: "orders", payload: "late", key: "k"}])
      inside << true
      release.pop
    end
    inside.pop
    put("early")
    relay.drain
    release << true
    late.join
    relay.drain

    assert_equal %w[early late], @log.payloads
  end

  test "several keys are locked in one order, so that two transactions don't wait for each other" do
    messages = %w[a b c d].map { |key| {topic: "orders", payload: key, key: key} }
    threads = [messages, messages.reverse].map do |list|
      Thread.new { 20.times { in_a_transaction { @writer.enqueue(list) }.join } }
    end
    threads.each(&:join)

    assert_equal 160, relay.drain
  end

  test "a relay whose session is ended sends nothing more, and the next one sends its unsettled rows again" do
    put("1", "2", "3")
    @log.at_send = lambda do |message|
      end_other_sessions if message[:payload] == "2"
    end
    one = relay
    assert_raises(ActiveRecord::ActiveRecordError) { one.drain }
    @log.at_send = ->(_message) {}
    one.drain

    assert_equal %w[1 2 3], @log.payloads.uniq
    assert_empty states
  end

  test "a session that is cut is noticed while a turn waits, and the queued messages are discarded" do
    put("1", "2")
    @log.answer = lambda do |message|
      end_other_sessions if message[:payload] == "1"
      @clock.pass(2_000)
      nil
    end
    assert_raises(ActiveRecord::ActiveRecordError) { relay.drain }

    assert_equal 1, @log.purged
  end

  test "with REPEATABLE READ as the default a relay sees what others have sent before it got the lock" do
    connection = ActiveRecord::Base.connection
    connection.execute("SET default_transaction_isolation = 'repeatable read'")
    put("1", "2")
    delivered_by_another_when_asked_for_the_lock
    relay.drain

    assert_empty @log.payloads
    put("3")
    assert_equal 1, relay.drain
  ensure
    connection&.execute("RESET default_transaction_isolation")
  end

  test "a relay's transaction doesn't keep rows that others delete from being vacuumed" do
    put("1")
    horizons = nil
    @log.at_send = lambda do |_message|
      horizons = outside { |connection| connection.select_rows(<<~SQL) }
        SELECT backend_xid::text, backend_xmin::text FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND state = 'idle in transaction'
      SQL
    end
    relay.drain

    assert_equal [[nil, nil]], horizons
  end

  test "a sequence that reserves ids for sessions gives no order: a relay refuses to start" do
    connection = ActiveRecord::Base.connection
    connection.execute("ALTER SEQUENCE penstock_outbox_id_seq CACHE 20")
    error = assert_raises(Penstock::ConfigurationError) { relay.start }
    connection.execute("ALTER SEQUENCE penstock_outbox_id_seq CACHE 1")

    assert_includes error.message, "CACHE 20"
    assert_nil @store.check!
  end

  test "reading ready rows uses an index, however many rows are parked, held and sent" do
    connection = ActiveRecord::Base.connection
    connection.execute(<<~SQL)
      INSERT INTO penstock_outbox (topic, payload, strand, state, created_ms, blocker_id, due_ms)
      SELECT 't', 'x', n, CASE WHEN n % 3 = 0 THEN 'held' WHEN n % 3 = 1 THEN 'sent' ELSE 'parked' END, 1, 0, 1800000100000
      FROM generate_series(1, 8999) n
    SQL
    connection.execute("UPDATE penstock_outbox SET blocker_id = id + 2 WHERE state = 'held'")
    put("1")
    connection.execute("ANALYZE penstock_outbox")
    statements = []
    subscriber = ActiveSupport::Notifications.subscribe("sql.active_record") { |event| statements << event.payload }
    relay.drain
    ActiveSupport::Notifications.unsubscribe(subscriber)
    reads = statements.select { |payload| payload[:sql].match?(/\ASELECT.*FROM "penstock_outbox"/m) }

    assert_equal ["1"], @log.payloads
    assert_operator reads.size, :>=, 4
    reads.each { |read| refute_includes plan_of(connection, read), "Seq Scan", read[:sql] }
  end

  private

  def in_a_transaction(&block)
    Thread.new { ActiveRecord::Base.connection_pool.with_connection { ActiveRecord::Base.transaction(&block) } }
  end

  def outside(&block)
    Thread.new { ActiveRecord::Base.connection_pool.with_connection(&block) }.value
  end

  def delivered_by_another_when_asked_for_the_lock
    subscriber = ActiveSupport::Notifications.subscribe("sql.active_record") do |event|
      next unless event.payload[:sql].include?("pg_try_advisory_xact_lock")

      ActiveSupport::Notifications.unsubscribe(subscriber)
      outside { |connection| connection.execute("DELETE FROM penstock_outbox") }
    end
  end

  def ranks(numbers) = numbers.map { |number| numbers.sort.index(number) + 1 }

  def plan_of(connection, read)
    values = read[:type_casted_binds].to_a
    sql = read[:sql].gsub(/\$(\d+)/) { connection.quote(values[Regexp.last_match(1).to_i - 1]) }
    connection.select_values("EXPLAIN #{sql}").join("\n")
  end

  def waiting_for_a_lock
    outside { |connection| connection.select_value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") }
  end

  def end_other_sessions
    outside do |connection|
      connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " \
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'idle in transaction'")
    end
  end
end
