# frozen_string_literal: true

require "support/wait"

module Penstock
  module TestSupport
    # The behaviour of a member's client that a poll loop relies on, for every kind of client. Including modules define
    # `produce(topic, payloads)`, `topic(partitions = 1)` (a new one) and `client(topic)` (a new, subscribed member of the
    # test's group).
    module ClientContract
      # One round of a loop that answers rebalances and takes available records.
      class Rounds
        attr_reader :client, :events, :records, :batches, :lane

        def initialize(client)
          @client = client
          @events = []
          @batches = []
        end

        def until(what, rounds: 2_000)
          rounds.times do
            return self if yield(self)
            turn
          end
          raise "no #{what}; events: #{@events}"
        end

        def close = @client.close(500)

        def turn
          @client.wait(20)
          while (event = @client.poll_event)
            @events << event
            answer(event) if %i[assign revoke].include?(event.first)
          end
          @client.ready_lanes
          batch, = @client.take([@lane, 100, 1 << 20]) if @lane
          @batches << batch if batch
        end

        # @return [Array<Array(String, Integer)>] partitions of events of the kind
        def keys(kind) = @events.select { |event| event.first == kind }.flat_map { |event| event[1] }

        def offsets = @batches.flat_map(&:offsets)
        def event(kind) = @events.find { |event| event.first == kind }

        private

        def answer(event)
          @lane = @client.lane(*event[1].first) if event.first == :assign && event[1].any?
          @client.answer
          @client.touch([@lane]) if @lane
        end
      end

      def self.included(base)
        base.class_eval do
          test "a member is assigned the partition, and its records come in order, with consecutive spans and an end" do
            with_records(%w[a b c]) { |_member, name, rounds| assert_spans(name, rounds) }
          end

          test "a commit is answered, and can be read again with its metadata" do
            with_records(%w[a b]) { |member, name, rounds| assert_committed(member, name, rounds) }
          end

          test "a second member is assigned partitions that the first has returned, and none before" do
            with_two(topic(2)) { |first, second| assert_equal first.keys(:revoke), second.keys(:assign) }
          end

          test "partitions of a member that closes are assigned to the remaining one, at the committed offset" do
            with_two(topic(2)) { |first, second| assert_returned(first, second) }
          end

          test "after a seek records come again from there" do
            with_records(%w[a b c]) { |member, _name, rounds| assert_sought(member, rounds) }
          end
        end
      end

      private

      def with_records(payloads)
        name = topic
        produce(name, payloads)
        rounds = Rounds.new(member = client(name))
        yield member, name, rounds.until("records") { |all| all.offsets.size == payloads.size }
      ensure
        member&.close(500)
      end

      def assert_spans(name, rounds)
        rounds.until("end") { |all| all.batches.any?(&:eof) }
        assert_equal [:assign, [[name, 0]]], rounds.event(:assign).first(2)
        assert_equal [0, 1, 2], rounds.offsets
        batch = rounds.batches.find { |each| each.size.positive? }
        assert_equal %w[a b c].first(batch.size), batch.raw_payloads(0, batch.size)
        assert_equal [3, 3], [rounds.lane.cursor, rounds.batches.filter_map(&:eof).last]
      end

      def assert_committed(member, name, rounds)
        member.commit(7, [[name, 0, 1, "meta", 0]])
        rounds.until("answer") { |all| all.event(:commit) }
        assert_equal [:commit, 7, 0, [[name, 0, 1, 0]]], rounds.event(:commit)
        member.fetch_committed(8, [[name, 0]], timeout_ms: 5_000)
        rounds.until("answer") { |all| all.event(:committed) }
        assert_equal [8, 0], rounds.event(:committed)[1, 2]
        assert_equal [name, 0, 1, "meta"], rounds.event(:committed).last.first.first(4)
      end

      # Two members with a partition each.
      def with_two(name)
        first = Rounds.new(client(name)).until("assignment") { |all| all.keys(:assign).size == 2 }
        second = Rounds.new(client(name))
        second.until("share") do
          first.turn
          taken = second.keys(:assign)
          assert_empty taken - first.keys(:revoke)
          taken.any?
        end
        yield first, second
      ensure
        [second, first].compact.each(&:close)
      end

      def assert_returned(first, second)
        moved = second.keys(:assign).first
        second.client.commit(3, [[*moved, 0, "mine", -1]])
        second.until("answer") { |all| all.event(:commit) }
        second.close
        first.events.clear
        first.until("return") { |all| all.keys(:assign).include?(moved) }
        first.client.fetch_committed(4, [moved], timeout_ms: 5_000)
        first.until("answer") { |all| all.event(:committed) }
        assert_equal [*moved, 0, "mine"], first.event(:committed).last.first.first(4)
      end

      def assert_sought(member, rounds)
        assert_nil member.seek(rounds.lane, 1)
        assert_equal 1, rounds.lane.cursor
        rounds.until("records again") { |all| all.offsets.size == 5 }
        assert_equal [0, 1, 2, 1, 2], rounds.offsets
      end
    end

    # Limits that brokers have and librdkafka's mock doesn't. In addition to {ClientContract}.
    module ClientLimits
      TOO_LARGE = 12

      def self.included(base)
        base.class_eval do
          test "metadata of 4,096 bytes is accepted, one byte more is refused" do
            with_records(%w[a b]) { |member, name, rounds| assert_limited(member, name, rounds) }
          end
        end
      end

      private

      def assert_limited(member, name, rounds)
        assert_equal [[name, 0, 1, 0]], committed(member, rounds, [name, 0, 1, "m" * 4_096, 0])
        assert_equal [[name, 0, 2, TOO_LARGE]], committed(member, rounds, [name, 0, 2, "m" * 4_097, 0])
      end

      # @return [Array<Array>] the answers
      def committed(member, rounds, row)
        rounds.events.clear
        member.commit(1, [row])
        rounds.until("answer") { |all| all.event(:commit) }
        rounds.event(:commit).last
      end
    end
  end
end
