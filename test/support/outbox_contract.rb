# frozen_string_literal: true

require_relative "outbox"
require_relative "shared_tests"

module Penstock
  module TestSupport
    # The outbox's guarantees on every database. Included by a class that sets the database in `before_all`.
    module OutboxContract
      include Outbox

      extend SharedTests

      test "a message is stored with its transaction, and only with it" do
        ActiveRecord::Base.transaction do
          @writer.enqueue([{topic: "orders", payload: "undone", key: "1"}])
          raise ActiveRecord::Rollback
        end
        put("kept")

        assert_equal 1, relay.drain
        assert_equal ["kept"], @log.payloads
      end

      test "a savepoint that is rolled back removes its messages" do
        ActiveRecord::Base.transaction do
          @writer.enqueue([{topic: "orders", payload: "1", key: "k"}])
          ActiveRecord::Base.transaction(requires_new: true) do
            @writer.enqueue([{topic: "orders", payload: "undone", key: "k"}])
            raise ActiveRecord::Rollback
          end
          @writer.enqueue([{topic: "orders", payload: "2", key: "k"}])
        end
        relay.drain

        assert_equal %w[1 2], @log.payloads
      end

      test "a message is delivered as it was stored, byte by byte" do
        message = {topic: "orders", payload: "\x00\xFF".b, key: "\xFE".b, partition: 3, timestamp: 1_600_000_000_000,
                   headers: {"text" => "ü", "bytes" => "\xFD".b, "none" => nil, "two" => %w[a b]}}
        id = ActiveRecord::Base.transaction { @writer.enqueue([message]).first }
        relay.drain
        sent = @log.stored.first

        assert_equal "#{id}-#{@clock.wall_ms}", sent[:headers].delete("penstock-outbox-id")
        assert_equal [message.except(:headers), message[:headers].transform_values { |value| Array(value).map(&:b) }],
          [sent.except(:headers), sent[:headers].transform_values { |value| Array(value).map(&:b) }]
      end

      test "of a list of messages all or none are stored, in their order" do
        error = assert_raises(Penstock::MessageInvalidError) do
          ActiveRecord::Base.transaction { @writer.enqueue([{topic: "a", payload: "1"}, {topic: "a b", payload: 2}]) }
        end
        ids = ActiveRecord::Base.transaction { @writer.enqueue(%w[1 2 3].map { |payload| {topic: "a", payload: payload} }) }

        assert_includes error.message, "message 1 of the list: :topic"
        assert_equal ids.sort, ids
        assert_equal %w[1 2 3], states.keys
      end

      test "a message outside of a transaction is an error, unless that is allowed" do
        error = assert_raises(Penstock::MessageInvalidError) { @writer.enqueue([{topic: "a b", payload: "1"}]) }
        use(require_transaction: false)
        @writer.enqueue([{topic: "a", payload: "1", key: "k"}])

        assert_includes error.message, ":topic"
        assert_includes error.message, "isn't inside a database transaction"
        assert_equal ["1"], states.keys
      end

      test "delivered rows are deleted, or kept as sent until they are purged" do
        use(after_delivery: :keep)
        put("1", "2")
        relay.drain
        kept = states
        @clock.pass(1_000)

        assert_equal({"1" => "sent", "2" => "sent"}, kept)
        assert_equal 0, relay.drain, "a row that was sent isn't sent again"
        assert_equal 0, @store.purge(@clock.wall_ms - 2_000)
        assert_equal 2, @store.purge(@clock.wall_ms)
      end

      test "at most one row of a key is in flight; other keys are sent at the same time" do
        flying = Hash.new(0)
        most = Hash.new(0)
        @log.at_send = ->(message) { most[message[:key]] = [most[message[:key]], flying[message[:key]] += 1].max }
        @log.answer = ->(message) { (flying[message[:key]] -= 1) && nil }
        put("1", "2", "3", key: "a")
        put("4", "5", key: "b")
        relay.drain

        assert_equal({"a" => 1, "b" => 1}, most)
        assert_equal %w[1 4 2 5 3], @log.payloads
      end

      test "a refused row is parked and holds its key; other keys continue" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("1", "poison", "2", "3")
        put("4", key: "other")
        relay.drain

        assert_equal %w[1 4], @log.payloads.sort
        assert_equal({"poison" => "parked", "2" => "held", "3" => "held"}, states)
        parked = told("outbox.parked").first
        assert_equal ["orders", 1, 1_000], parked.payload.values_at(:topic, :attempt, :retry_in_ms)
      end

      test "rows after a parked row are held too, and all are sent in order later" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("poison", "1")
        relay.drain
        put("2")
        relay.drain
        held = states
        @log.answer = ->(_message) {}
        @clock.pass(1_000)
        put("3")
        relay.drain

        assert_equal({"poison" => "parked", "1" => "held", "2" => "held"}, held)
        assert_equal %w[poison 1 2 3], @log.payloads
        assert_empty states
      end

      test "a parked row is tried again after longer and longer waits" do
        @log.answer = ->(_message) { refused }
        put("poison")
        attempts = Array.new(60) do
          relay.drain
          @clock.pass(500)
          @log.sent.size
        end

        assert_equal [1, 1, 2, 2, 2, 2, 3], attempts.first(7)
        assert_equal 5, attempts.last, "at 0, 1, 3, 7, 15 seconds"
      end

      test "with `set_aside` a refused row is set aside in the end, and its key continues" do
        use(on_refusal: :set_aside, max_attempts: 2)
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("poison", "1", "2")
        relay.drain
        @clock.pass(1_000)
        relay.drain

        assert_equal %w[1 2], @log.payloads
        assert_equal({"poison" => "aside"}, states)
        assert_equal [2], told("outbox.set_aside").map { |event| event[:attempt] }
      end

      test "a row that was set aside is sent on request, or discarded" do
        use(on_refusal: :set_aside, max_attempts: 1)
        @log.answer = ->(_message) { refused }
        first, second = put("1", "2")
        relay.drain
        @log.answer = ->(_message) {}

        assert_equal 1, @store.retry([first])
        assert_equal 1, @store.discard([second])
        relay.drain
        assert_equal ["1"], @log.payloads
        assert_empty states
      end

      test "a parked row that is discarded releases the rows it held; one that is retried doesn't wait" do
        @log.answer = ->(message) { refused if message[:payload].start_with?("poison") }
        gone, = put("poison1", "1")
        kept, = put("poison2", "2", key: "other")
        relay.drain
        @store.discard([gone])
        @store.retry([kept])
        @log.answer = ->(_message) {}
        relay.drain

        assert_equal %w[1 2 poison2], @log.payloads.sort
        assert_operator @log.payloads.index("poison2"), :<, @log.payloads.index("2")
      end

      test "rows held by a row that somebody deleted are released" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        poison, = put("poison", "1")
        relay.drain
        @database.rows.where(id: poison).delete_all
        relay.drain

        assert_equal ["1"], @log.payloads
      end

      test "a clock that is set back parks no row forever" do
        @log.answer = ->(_message) { refused }
        put("1")
        relay.drain
        @log.answer = ->(_message) {}
        @clock.wall_ms -= 3_600_000
        relay.drain

        assert_equal ["1"], @log.payloads
      end

      test "no row changes while the cluster is unreachable" do
        @log.answer = ->(_message) { refused(:msg_timed_out) }
        put("1", "2")
        error = assert_raises(Penstock::KafkaError) { relay.drain }

        assert_equal :msg_timed_out, error.code
        assert_equal({"1" => "ready", "2" => "ready"}, states)
      end

      test "while a part of the cluster is unreachable its rows are parked without counting an attempt, the others continue" do
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key] == "k" }
        put("1", "2")
        put("3", key: "other")
        relay.drain
        parked = states
        @log.answer = ->(_message) {}
        @clock.pass(5_000)
        relay.drain

        assert_equal({"1" => "parked", "2" => "held"}, parked)
        assert_equal 0, told("outbox.parked").first[:attempt]
        assert_equal %w[3 1 2], @log.payloads
      end

      test "rows for a missing topic cost one attempt, and are never set aside" do
        use(on_refusal: :set_aside, max_attempts: 1)
        @log.answer = ->(message) { refused(:unknown_topic_or_part) if message[:topic] == "missing" }
        one = relay
        put("0", topic: "missing", key: "0")
        one.drain
        put("1", topic: "missing", key: "1")
        put("2", topic: "there")
        one.drain

        assert_equal %w[0 2], @log.sent.map { |message| message[:payload] }
        assert_equal({"0" => "parked", "1" => "parked"}, states)
      end

      test "a backlog larger than a turn is sent in order" do
        use(batch_size: 3)
        put(*Array.new(10) { |number| "a#{number}" }, key: "a")
        put(*Array.new(10) { |number| "b#{number}" }, key: "b")

        assert_equal 20, relay.drain
        assert_equal Array.new(10) { |number| "a#{number}" }, @log.payloads.grep(/a/)
        assert_equal Array.new(10) { |number| "b#{number}" }, @log.payloads.grep(/b/)
      end

      test "a turn reads at most its limit of bytes" do
        use(batch_bytes: 100)
        put("x" * 60, "y" * 60, "z" * 200, key: nil)
        sizes = []
        taking = @store.method(:take)
        @store.define_singleton_method(:take) do |ids|
          taking.call(ids).tap { |rows| sizes << rows.sum { |row| row["payload"].size } }
        end
        relay.drain

        assert_equal [60, 60, 200], sizes
      end

      test "parked rows don't take the place of other rows" do
        use(batch_size: 4)
        @log.answer = ->(message) { refused if message[:payload].start_with?("p") }
        10.times { |number| put("p#{number}", key: "p#{number}") }
        relay.drain
        @clock.pass(2_000)
        put("good", key: "good")
        relay.drain

        assert_equal ["good"], @log.payloads
      end

      test "a row that can't be read is treated like one that Kafka refuses" do
        id, = put("1", "2")
        @database.rows.where(id: id).update_all(headers: "{")
        relay.drain

        assert_equal({"1" => "parked", "2" => "held"}, states)
        assert_empty @log.sent
      end

      test "the lag counts the rows to be sent and gives the age of the oldest" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("poison", "1")
        relay.drain
        @clock.pass(500)
        put("2", key: "other")
        @clock.pass(250)
        lag = @store.lag

        assert_equal [1, 1, 1, 0, 3, 750], [lag.ready, lag.parked, lag.held, lag.aside, lag.pending, lag.oldest_age_ms]
        @clock.wall_ms -= 3_600_000
        assert_equal 0, @store.lag.oldest_age_ms
      end

      test "a second relay finds the table locked, in any process" do
        put("1")
        second = nil
        @log.at_send = lambda do |_message|
          second ||= Thread.new { ActiveRecord::Base.connection_pool.with_connection { relay(Log.new).drain } }.value
        end

        assert_equal 1, relay.drain
        assert_equal 0, second
        put("2")
        assert_equal 1, relay.drain, "and the table is free again"
      end

      test "a row that was acknowledged isn't sent again by a relay whose settling failed" do
        put("1", "2")
        failures = 1
        settle = @store.method(:settle)
        @store.define_singleton_method(:settle) do |settlement|
          raise ActiveRecord::StatementTimeout, "busy" if (failures -= 1) >= 0
          settle.call(settlement)
        end
        one = relay
        assert_raises(ActiveRecord::StatementTimeout) { one.drain }
        left = states
        put("3")
        one.drain

        assert_equal %w[1 2], left.keys
        assert_equal %w[1 2 3], @log.payloads
        assert_empty states
      end
    end
  end
end
