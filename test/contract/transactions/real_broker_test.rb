# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "penstock/producer"
require "support/consuming"
require "support/native_member"
require "support/real_broker"

module Penstock
  # Messages and marks of a consumer's transactions, checked with a reader of committed messages and the group's offset.
  class TransactionsInConsumersTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    Address = Struct.new(:bootstrap_servers)

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}

    def setup
      super
      @members = []
      @producers = []
    end

    def teardown
      @members.each(&:close)
      super
      @producers.each { |producer| producer.close(timeout_ms: 5_000) }
    end

    def topics
      [unique("in"), unique("out")].each { |name| create_topic(name, 1) }
    end

    def copying(topic, options = ->(_route) {}, **settings, &consume)
      transactional = {"transactional.id": unique("copier"), **settings.delete(:kafka).to_h}
      consuming(topic, options, **settings, kafka: transactional, &consume)
    end

    # @return [Array<String>] payloads up to the last one, which it waits for
    def seen_until(topic, last, isolation: "read_committed")
      reader = TestSupport::NativeMember.new(Address.new(bootstrap_servers), topic, group_id: unique("reader"),
        isolation_level: isolation)
      @members << reader
      found = -> { reader.batches.values.flatten.flat_map { |batch| Array.new(batch.size) { |index| batch.payload(index) } } }
      reader.turn_until(40, "the record #{last}") { found.call.include?(last) }
      found.call
    end

    def await_offset(topic, offset, partition = 0)
      state = -> { [committed(topic, partition), @running.map { |each| each.application.snapshot }] }
      wait_until(40, "offset #{offset}", state: state) { committed(topic, partition) == offset }
    end

    def producer(name)
      Producer.new { |config| config.kafka = {"bootstrap.servers": bootstrap_servers, "transactional.id": unique(name)} }
        .tap { |made| @producers << made }
    end

    test "[transaction commit] produced messages and marks become visible together, with metadata" do
      source, target = topics
      produce(source, %w[a b c])
      copying(source, max_messages: 3) do
        transaction do
          messages.each { |message| produce_async(topic: target, payload: message.raw_payload.upcase) }
          mark_as_consumed(messages.last, "so far")
        end
      end

      assert_equal %w[A B C], seen_until(target, "C")
      await_offset(source, 3)
      assert_equal "so far", committed_map(source).user_metadata
    end

    test "[transaction abort] none of its messages is visible and the offset stays; the record runs again" do
      source, target = topics
      produce(source, %w[a b])
      attempts = queue
      copying(source, max_messages: 1) do
        transaction do
          produce_sync(topic: target, payload: "#{messages.first.raw_payload}#{attempt}")
          mark_as_consumed(messages.first)
          attempts << attempt
          raise "no" if attempt == 1 && messages.first.offset == 1
        end
      end

      assert_equal %w[a1 b2], seen_until(target, "b2")
      assert_equal %w[a1 b1 b2], seen_until(target, "b2", isolation: "read_uncommitted")
      await_offset(source, 2)
      assert_equal [1, 1, 2], take(attempts, 3)
    end

    test "a transaction that wrap begins is aborted when consume fails, also if wrap rescues: the record runs again" do
      source, target = topics
      produce(source, %w[a])
      wrap = lambda do |_action, &job|
        transaction { job.call }
      rescue RuntimeError
        nil
      end
      copying(source, max_messages: 1, hooks: {wrap: wrap}) do
        produce_sync(topic: target, payload: "a#{attempt}")
        raise "no" if attempt == 1
        mark_as_consumed(messages.first)
      end

      assert_equal %w[a2], seen_until(target, "a2")
      await_offset(source, 1)
    end

    test "[AbortTransaction] it isn't an error, marks made in it are undone, and an event reports it" do
      source, target = topics
      produce(source, %w[a])
      answers, events = queue, queue
      running = copying(source, ->(_route) { manual_offset_management true }) do
        answer = transaction do
          produce_async(topic: target, payload: "no")
          mark_as_consumed(messages.first)
          raise AbortTransaction
        end
        answers << answer
        transaction { produce_async(topic: target, payload: "yes") }
      end
      running.application.monitor.subscribe("consumer.consuming.transaction") { |event| events << event[:outcome] }

      assert_nil take(answers, 1, 40).first
      assert_equal %w[yes], seen_until(target, "yes")
      assert_equal %i[aborted committed], take(events, 2)
      running.stop
      assert_operator committed(source), :<=, 0
      assert_predicate running.errors, :empty?
    end

    test "[piping] a message piped in a transaction is visible together with its mark, or not at all, with headers, key and order" do
      source, target = topics
      produce_keyed(source, [%w[k a], %w[k b], [nil, "c"]], headers: {"from" => "web"})
      copying(source, ->(_route) { manual_offset_management true }) do
        [AbortTransaction, nil].each do |ends|
          transaction do
            pipe_many_async(topic: target, messages: messages)
            mark_as_consumed(messages.last)
            raise ends if ends
          end
        end
      end

      assert_equal %w[a b c], seen_until(target, "c")
      await_offset(source, 3)
      rows = @members.last.batches.values.flatten.flat_map do |batch|
        Array.new(batch.size) { |index| [batch.key(index), *batch.headers(index).values_at("from", "source_offset")] }
      end
      assert_equal [%w[k web 0], %w[k web 1], [nil, "web", "2"]], rows
    end

    test "[mixed marking] with manual offsets a mark outside is refused once records were marked in a transaction" do
      source, target = topics
      produce(source, %w[a b])
      told = queue
      copying(source, ->(_route) { manual_offset_management true }, max_messages: 1) do
        message = messages.first
        next transaction { produce_async(topic: target, payload: "x") && mark_as_consumed(message) } if message.offset.zero?
        begin
          mark_as_consumed(message)
        rescue NonTransactionalMarkingAttemptError => error
          told << error.message
        end
      end

      assert_match(/is marked outside of a transaction/, take(told, 1, 40).first)
      await_offset(source, 1)
    end

    test "a transaction inside another is refused, and so is one of a producer without transactions; both leave the records unmarked" do
      source, = topics
      produce(source, %w[a])
      other = Producer.new { |config| config.kafka = {"bootstrap.servers": bootstrap_servers} }.tap { |made| @producers << made }
      told = queue
      copying(source) do
        next if attempt > 2
        told << begin
          (attempt == 1) ? transaction { transaction { raise "never" } } : transaction(other) { raise "never" }
        rescue => error
          error.class
        end
        raise "again"
      end

      assert_equal [TransactionAlreadyInitializedError, ProducerNotTransactionalError], take(told, 2, 40)
      await_offset(source, 1)
    end

    test "a variant of a producer works like the producer" do
      source, target = topics
      produce(source, %w[a])
      mine = producer("variant").with(max_wait_timeout: 30_000)
      consuming(source) do
        transaction(mine) { produce_async(topic: target, payload: "a") && mark_as_consumed(messages.last) }
      end

      assert_equal %w[a], seen_until(target, "a")
      await_offset(source, 1)
    end

    test "concurrent keys, each in transactions of a producer of its own: each record once, in order per key, and the offset at the end" do
      source, target = topics
      produce_keyed(source, Array.new(120) { |index| ["k#{index % 6}", index.to_s] })
      pool = Pool.new(Array.new(3) { |index| producer("keys-#{index}") })
      consuming(source, ->(_route) { parallel by: :key }, concurrency: 3, max_messages: 4) do
        transaction(pool) do
          messages.each { |message| produce_async(topic: target, payload: message.raw_payload) }
          mark_as_consumed(messages.last)
          raise AbortTransaction if messages.first.raw_payload.to_i % 7 == 3 && attempt == 1 && rand(2).zero?
        end || raise("aborted")
      end

      await_offset(source, 120)
      produce(target, ["end"])
      seen = seen_until(target, "end") - ["end"]
      assert_equal Array.new(120, &:to_s), seen.sort_by(&:to_i)
      seen.map(&:to_i).group_by { |index| index % 6 }.each_value { |ones| assert_equal ones.sort, ones }
    end

    # A pool with the interface of `connection_pool`.
    class Pool
      def initialize(producers)
        @free = Thread::Queue.new
        producers.each { |producer| @free << producer }
      end

      def with
        producer = @free.pop
        yield producer
      ensure
        @free << producer if producer
      end
    end

    # The reverse order, and neither without the other: test/support/copiers.rb kills a process in between.
    test "[DLQ transactional] the letter and the offset after its record are one transaction, even if other records of its call wait" do
      source, dead = topics
      produce(source, %w[a b bad c])
      told, ran = queue, queue
      running = copying(source, ->(_route) { dead_letter_queue(topic: dead, max_retries: 0) }, max_messages: 4,
        config: ->(config) { config.kafka = {**config.kafka, "auto.commit.interval.ms": 60_000} }) do
        messages.each { |message| raise "no" if message.raw_payload == "bad" }
        ran << messages.to_a.last.offset
      end
      running.application.producer.monitor.subscribe("transaction.committed") { told << committed_map(source) }

      assert_equal ["bad"], seen_until(dead, "bad")
      assert_includes [[[2, 3]], []], take(told, 1, 40).first.completed
      wait_until(40, "the last record") { !ran.empty? && ran.pop == 3 }
      running.stop
      assert_equal 4, committed(source)
    end

    test "[wrap with pool] a consumer that took a producer from a pool uses it in its transactions, and for its dead letters" do
      source, target = topics
      dead = unique("dead")
      create_topic(dead, 1)
      produce(source, %w[a bad c])
      mine = producer("pool")
      ids, dispatched = queue, queue
      mine.monitor.subscribe("transaction.committed") { |event| ids << event[:producer_id] }
      pool = Pool.new([mine])
      running = copying(source, ->(_route) { dead_letter_queue(topic: dead, max_retries: 0) }, max_messages: 1,
        hooks: {wrap: ->(_action, &job) { pool.with { |one| (self.producer = one) && job.call } }}) do
        raise "no" if messages.first.raw_payload == "bad"
        transaction { produce_async(topic: target, payload: messages.first.raw_payload) && mark_as_consumed(messages.first) }
      end
      running.application.monitor.subscribe("dead_letter_queue.dispatched") { |event| dispatched << event[:offset] }

      assert_equal %w[a c], seen_until(target, "c")
      await_offset(source, 3)
      assert_equal ["bad"], seen_until(dead, "bad")
      assert_equal [mine.id] * 3, take(ids, 3, 40)
    end
  end
end
