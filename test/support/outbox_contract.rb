# frozen_string_literal: true

require_relative "outbox"
require_relative "shared_tests"

module Penstock
  module TestSupport
    # What the outbox promises on every database. Included by a class that says in `before_all` which it is.
    module OutboxContract
      include Outbox

      extend SharedTests

      test "a message is put in with the transaction, and with it only" do
        ActiveRecord::Base.transaction do
          @writer.enqueue([{topic: "orders", payload: "undone", key: "1"}])
          raise ActiveRecord::Rollback
        end
        put("kept")

        assert_equal 1, relay.drain
        assert_equal ["kept"], @log.payloads
      end

      test "a savepoint that is rolled back takes its messages with it" do
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

      test "what comes out is what was put in, byte by byte" do
        message = {topic: "orders", payload: "\x00\xFF".b, key: "\xFE".b, partition: 3, timestamp: 1_600_000_000_000,
                   headers: {"text" => "ü", "bytes" => "\xFD".b, "none" => nil, "two" => %w[a b]}}
        id = ActiveRecord::Base.transaction { @writer.enqueue([message]).first }
        relay.drain
        sent = @log.stored.first

        assert_equal "#{id}-#{@clock.wall_ms}", sent[:headers].delete("penstock-outbox-id")
        assert_equal [message.except(:headers), message[:headers].transform_values { |value| Array(value).map(&:b) }],
          [sent.except(:headers), sent[:headers].transform_values { |value| Array(value).map(&:b) }]
      end

      test "messages put in together are put in all or none, in their order" do
        error = assert_raises(Penstock::MessageInvalidError) do
          ActiveRecord::Base.transaction { @writer.enqueue([{topic: "a", payload: "1"}, {topic: "a b", payload: 2}]) }
        end
        ids = ActiveRecord::Base.transaction { @writer.enqueue(%w[1 2 3].map { |payload| {topic: "a", payload: payload} }) }

        assert_includes error.message, "message 1 of the list: :topic"
        assert_equal ids.sort, ids
        assert_equal %w[1 2 3], states.keys
      end

      test "outside of a transaction is an error, unless it is allowed" do
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
        assert_equal 0, relay.drain, "what is sent isn't sent again"
        assert_equal 0, @store.purge(@clock.wall_ms - 2_000)
        assert_equal 2, @store.purge(@clock.wall_ms)
      end

      test "one row of a key is in flight at most, other keys go beside it" do
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

      test "a row that is refused is parked, holds its key, and lets the others go" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("1", "poison", "2", "3")
        put("4", key: "other")
        relay.drain

        assert_equal %w[1 4], @log.payloads.sort
        assert_equal({"poison" => "parked", "2" => "held", "3" => "held"}, states)
        parked = told("outbox.parked").first
        assert_equal ["orders", 1, 1_000], parked.payload.values_at(:topic, :attempt, :retry_in_ms)
      end

      test "what comes behind a parked row is held too, and all of it goes on in its order" do
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

      test "a parked row is tried behind longer and longer times" do
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

      test "by the other policy a refused row is set aside in the end, and its key goes on" do
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

      test "what is set aside is sent when somebody says so, or discarded" do
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

      test "a parked row that is discarded lets go of what it held; one that is retried needn't wait" do
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

      test "rows that are held behind a row somebody deleted go on" do
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        poison, = put("poison", "1")
        relay.drain
        @database.rows.where(id: poison).delete_all
        relay.drain

        assert_equal ["1"], @log.payloads
      end

      test "a clock that went back parks nothing for ever" do
        @log.answer = ->(_message) { refused }
        put("1")
        relay.drain
        @log.answer = ->(_message) {}
        @clock.wall_ms -= 3_600_000
        relay.drain

        assert_equal ["1"], @log.payloads
      end

      test "while the cluster is out no row changes" do
        @log.answer = ->(_message) { refused(:msg_timed_out) }
        put("1", "2")
        error = assert_raises(Penstock::KafkaError) { relay.drain }

        assert_equal :msg_timed_out, error.code
        assert_equal({"1" => "ready", "2" => "ready"}, states)
      end

      test "while a part of the cluster is out its rows are parked, without being counted, and the others go on" do
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

      test "rows for a topic that is missing cost one try, and are never set aside" do
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

      test "a backlog larger than a turn goes out in order" do
        use(batch_size: 3)
        put(*Array.new(10) { |number| "a#{number}" }, key: "a")
        put(*Array.new(10) { |number| "b#{number}" }, key: "b")

        assert_equal 20, relay.drain
        assert_equal Array.new(10) { |number| "a#{number}" }, @log.payloads.grep(/a/)
        assert_equal Array.new(10) { |number| "b#{number}" }, @log.payloads.grep(/b/)
      end

      test "a turn takes no more bytes than it may" do
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

      test "parked rows leave room for the others" do
        use(batch_size: 4)
        @log.answer = ->(message) { refused if message[:payload].start_with?("p") }
        10.times { |number| put("p#{number}", key: "p#{number}") }
        relay.drain
        @clock.pass(2_000)
        put("good", key: "good")
        relay.drain

        assert_equal ["good"], @log.payloads
      end

      test "a row nobody can read is refused like one of Kafka's" do
        id, = put("1", "2")
        @database.rows.where(id: id).update_all(headers: "{")
        relay.drain

        assert_equal({"1" => "parked", "2" => "held"}, states)
        assert_empty @log.sent
      end

      test "the lag counts what is to be sent, and tells the age of the oldest" do
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

      test "a second relay finds the table taken, whoever runs it" do
        put("1")
        second = nil
        @log.at_send = lambda do |_message|
          second ||= Thread.new { ActiveRecord::Base.connection_pool.with_connection { relay(Log.new).drain } }.value
        end

        assert_equal 1, relay.drain
        assert_equal 0, second
        put("2")
        assert_equal 1, relay.drain, "and free again"
      end

      test "what is acknowledged isn't sent again by a relay whose settling failed" do
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
