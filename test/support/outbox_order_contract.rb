# frozen_string_literal: true

require_relative "outbox"
require_relative "shared_tests"

module Penstock
  module TestSupport
    # The outbox's guarantees for a key's order, on every database: when somebody intervenes while a turn sends, and for
    # keys that can't be delivered. Included by a class that sets the database in `before_all`.
    module OutboxOrderContract
      extend SharedTests

      # A parked row, and two rows that it holds.
      #
      # @return [Integer] id of the parked row
      def park_first
        @log.answer = ->(message) { refused if message[:payload] == "poison" }
        put("poison", "1", "2").first.tap { relay.drain }
      end

      # Calls the block when a turn has sent a row of another key, and continues with the block's value.
      def meanwhile
        put("other", key: "other")
        @log.answer = lambda do |message|
          next refused if message[:payload] == "poison"

          yield if message[:payload] == "other"
          nil
        end
      end

      # A turn without anything else.
      def turn(one) = one.send(:exclusive_turn)

      test "a parked row that is discarded while a turn runs: nothing stays held, and nothing overtakes" do
        poison = park_first
        put("3")
        meanwhile { @store.discard([poison]) }
        one = relay
        turn(one)
        after_first = states
        put("4")
        turn(one)

        assert_equal({"1" => "ready", "2" => "ready", "3" => "ready"}, after_first)
        assert_equal %w[other 1 2 3 4], @log.payloads
      end

      test "a parked row that is discarded while it is sent again doesn't hold the rows that were added since" do
        poison = park_first
        @clock.pass(1_000)
        put("3")
        meanwhile { @store.discard([poison]) }
        one = relay
        turn(one)
        put("4")
        turn(one)

        assert_equal %w[other 1 2 3 4], @log.payloads
        assert_empty states
      end

      test "a parked row that is discarded while a turn reads isn't overtaken by the row that it held last" do
        poison = park_first
        put("3")
        @log.answer = ->(_message) {}
        behind_read_of_ready { @store.discard([poison]) }
        relay.drain

        assert_equal %w[1 2 3], @log.payloads
      end

      test "rows held by a row that another relay parked, and Kafka had stored, are sent before later rows" do
        first, = put("1", "2")
        one = relay
        fail_to_settle(one)
        @log.answer = ->(message) { refused if message[:payload] == "1" }
        relay.drain
        parked = states
        @log.answer = ->(_message) {}
        put("3")
        one.drain

        assert_equal({"1" => "parked", "2" => "held"}, parked)
        assert_equal %w[1 2 3], @log.payloads
        refute @database.rows.exists?(id: first)
      end

      test "a stuck key at the head of the table doesn't keep other keys from being sent, however many rows it has" do
        use(batch_size: 3)
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key] == "dead" }
        put("a", "b", "c", "d", key: "dead")
        put("1", "2")
        put("3", key: nil)

        assert_equal 3, relay.drain
        assert_equal %w[1 2 3], @log.payloads.sort
        assert_equal({"a" => "parked", "b" => "held", "c" => "held", "d" => "held"}, states)
        assert_equal [0], told("outbox.parked").map { |event| event[:attempt] }
      end

      test "stuck rows without a key don't keep others from being sent either, and a key's order holds after them" do
        use(batch_size: 2)
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:payload].start_with?("dead") }
        put("dead1", "dead2", key: nil)
        put("dead3", "4", "5")
        put("1", key: "healthy")

        assert_equal [0, 1], [attempts(1), attempts(1)]
        attempts(8)
        @log.answer = ->(_message) {}
        @clock.pass(5_000)
        relay.drain

        assert_equal %w[dead3 4 5], @log.payloads - %w[1 dead1 dead2]
        assert_equal [6, {}], [@log.payloads.size, states]
      end

      test "many stuck keys that take a turn longer than they are parked cost other keys one attempt each" do
        use(batch_size: 3)
        dead_keys(30, rows: 1)
        12.times { |number| put("h#{number}", key: "h#{number}") }

        assert_equal [0, 12], [attempts(10, 10_000), attempts(4, 10_000)]
        assert_equal 30, states.count { |payload, state| payload.start_with?("a") && state == "parked" }
      end

      test "so do many stuck rows without a key, and none is sent twice because of it" do
        use(batch_size: 3)
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:payload].start_with?("dead") }
        put(*Array.new(30) { |number| "dead#{number}" }, key: nil)
        put(*Array.new(6) { |number| "h#{number}" }, key: nil)

        assert_equal [0, 3, 6], [attempts(10), attempts(1), attempts(1)]
        assert_equal [30, 36], [states.size, @log.sent.size]
        assert_equal 30, told("outbox.parked").flat_map { |event| event[:rows] }.uniq.size
      end

      test "rows held by stuck keys take no other row's place in a turn, and are sent in order later" do
        use(batch_size: 3)
        dead_keys(9, rows: 10)
        6.times { |number| put("healthy#{number}", key: "h#{number}") }

        assert_equal [0, 1, 4, 6], [3, 1, 1, 1].map { |count| attempts(count, 10_000) }
        @log.answer = ->(_message) {}
        attempts(100, 10_000)
        assert_empty states
        9.times { |key| assert_equal [*"a".."j"], @log.payloads.grep(/\A[a-j]#{key}\z/).map { |payload| payload[0] } }
      end

      test "a parked row that could be sent is tried in its turn, however many stuck rows are due before it" do
        use(batch_size: 4)
        dead_keys(12)
        late, = put("late", key: "late")
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key] != "h" }
        put("h", key: "h")
        attempts(7, 10_000)
        assert_equal %w[h], @log.payloads
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key].start_with?("dead") }
        9.times { |number| put("h#{number}", key: "h") && attempts(1, 10_000) }

        assert_includes @log.payloads, "late"
        refute @database.rows.exists?(id: late)
      end

      test "when more rows are stuck than can be left out, they are parked, so that later rows have their turn" do
        use(batch_size: 3)
        dead_keys(14)
        put("healthy", key: "healthy")
        @one = with_most(8)

        assert_equal [0, 14, 1], [attempts(5), states.values.count("parked"), attempts(1)]
        @log.answer = ->(_message) { refused(:msg_timed_out) }
        put("a", "b", "c", key: nil)
        @clock.pass(5_000)
        assert_raises(Penstock::KafkaError) { with_most(2).drain }
      end

      test "a row that is discarded while its turn parks it is deleted; one that was delivered meanwhile stays delivered" do
        use(after_delivery: :keep)
        one, two = put("1", key: "a") + put("2", key: "b")
        refusal = Penstock::Outbox::Settlement.new([], {one => [two]}, settings: @settings, closed: nil, now_ms: 0)
        refusal.parked[one] = {attempts: 1, due_ms: 0}
        @store.acknowledged([one])
        @store.settle(refusal)

        assert_equal({"1" => "sent", "2" => "ready"}, states)
      end

      test "a back-off shorter than the time for which a stuck row is parked doesn't make it due at once" do
        use(max_backoff: 1_000)
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key] == "k" }
        put("1")
        put("2", key: "other")
        relay.drain
        @clock.pass(4_999)
        relay.drain
        early = @log.sent.size
        @clock.pass(1)
        assert_raises(Penstock::KafkaError) { relay.drain }

        assert_equal [2, 3], [early, @log.sent.size]
      end

      # Stores rows a0, b0, … a1, b1, … for a partition that accepts none of them.
      def dead_keys(count, rows: 2)
        @log.answer = ->(message) { refused(:msg_timed_out) if message[:key].start_with?("dead") }
        count.times { |key| put(*("a"..).first(rows).map { |letter| "#{letter}#{key}" }, key: "dead#{key}") }
      end

      # A relay that leaves out at most that many.
      def with_most(count)
        relay.tap { |one| one.instance_variable_set(:@outage, Penstock::Outbox::Outage.new(most: count)) }
      end

      # Runs the block after the next statement that reads ready rows.
      def behind_read_of_ready
        subscriber = ActiveSupport::Notifications.subscribe("sql.active_record") do |event|
          next unless event.payload[:sql].match?(/\ASELECT.*state = 'ready'/m)

          ActiveSupport::Notifications.unsubscribe(subscriber)
          yield
        end
      end

      # Turns of one relay, as its thread makes them, each that many ms long.
      #
      # @return [Integer] how many rows were sent
      def attempts(count, each_ms = 0)
        @one ||= relay
        count.times { @one.send(:attempt) && @clock.pass(each_ms) }
        @log.stored.size
      end

      # The relay sends the first row, and the table doesn't record it.
      def fail_to_settle(one)
        @log.at_send = ->(message) { one.stop! if message[:payload] == "1" }
        @store.define_singleton_method(:settle) { |_| raise ActiveRecord::StatementTimeout, "busy" }
        assert_raises(ActiveRecord::StatementTimeout) { one.drain }
        one.instance_variable_set(:@halt, :go)
        @log.at_send = ->(_message) {}
        @store.singleton_class.send(:remove_method, :settle)
      end
    end
  end
end
