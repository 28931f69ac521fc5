# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "support/fake_transactions"

# The producer's transaction methods, with a client that sends nothing and records its calls.
class ProducerTransactionTest < Penstock::TestCase
  # Accepts messages, and transactions as a test specifies.
  class Client < Penstock::Producer::DryClient
    attr_reader :script

    def initialize(script)
      super()
      @script = script
    end

    FakeTransactions::CALLS.each_value { |name| define_method(name) { |*given| @script.public_send(name, *given) } }

    def offer(*parts)
      @script.calls << parts[1]
      super
    end
  end

  # For `config.client_class`: creates clients that share a script.
  class Clients
    def initialize(script)
      @script = script
    end

    def new
      Client.new(@script)
    end
  end

  class Producer < Penstock::Producer
    attr_accessor :script
  end

  Consumed = Struct.new(:topic, :partition, :offset)

  def setup
    @producer = make(transactional: true)
  end

  def teardown
    @producer.close(timeout_ms: 1_000)
    super
  end

  def make(transactional:)
    script = FakeTransactions.new
    producer = Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", **(transactional ? {"transactional.id": "t"} : {})}
      config.wait_backoff_on_transaction_fatal_error = 0
      config.client_class = Clients.new(script)
    end
    producer.tap { producer.script = script }
  end

  def record(payload = "x", **parts)
    {topic: "orders", payload: payload, **parts}
  end

  def calls
    @producer.script.calls
  end

  def events(*names)
    [].tap { |seen| names.each { |name| @producer.monitor.subscribe(name) { |event| seen << event.id } } }
  end

  test "[Transaction commit] everything produced in a block is sent in one transaction" do
    answer = @producer.transaction do |tx|
      tx.produce_async(record("a"))
      @producer.produce_sync(record("b"))
      tx.produce_many_async([record("c"), record("d")])
      tx.produce_many_sync([record("e")])
      :done
    end

    assert_equal :done, answer
    assert_equal [:init, :begin, "a", "b", "c", "d", "e", :commit], calls
  end

  test "[Nested transaction] a block inside a block joins the outer transaction" do
    @producer.transaction do |outer|
      @producer.transaction { |inner| assert_same outer, inner }
      assert_predicate @producer, :transaction?
    end

    assert_equal %i[init begin commit], calls
    refute_predicate @producer, :transaction?
  end

  test "an abort in a nested block aborts the whole transaction" do
    assert_nil(@producer.transaction { @producer.transaction { raise Penstock::AbortTransaction } || 1 })
    assert_equal :abort, calls.last
  end

  test "a call outside a block is a transaction of its own" do
    @producer.produce_sync(record("a"))
    @producer.produce_async(record("b"))
    @producer.produce_many_sync([record("c"), record("d")])
    @producer.tombstone_sync(record(key: "k", partition: 0))

    assert_equal [:init, :begin, "a", :commit, :begin, "b", :commit, :begin, "c", "d", :commit, :begin, nil, :commit], calls
  end

  test "an invalid message outside a block aborts its own transaction" do
    assert_raises(Penstock::MessageInvalidError) { @producer.produce_sync(record(key: "")) }
    assert_equal %i[init begin abort], calls
  end

  test "messages of a transaction that isn't committed count as not dispatched and go back to the buffer" do
    2.times { |n| @producer.buffer(record(n.to_s)) }
    @producer.script.answer(:commit, FakeTransactions.fatal)

    assert_raises(Penstock::FatalError) { @producer.flush_sync }
    assert_equal %w[0 1], @producer.messages.map { |each| each[:payload] }
    @producer.flush_sync
    assert_equal [:begin, "0", "1", :commit], calls.last(4)
  end

  test "flushing an empty buffer begins no transaction" do
    assert_empty @producer.flush_sync
    assert_empty calls
  end

  test "a yielded transaction is usable only in its block and its fiber" do
    kept = nil
    @producer.transaction do |tx|
      kept = tx
      assert_raises(Penstock::TransactionRequiredError) { quietly { tx.produce_async(record) }.value }
      assert_predicate tx, :open?
    end

    assert_raises(Penstock::TransactionRequiredError) { kept.produce_async(record) }
    refute_predicate kept, :open?
    assert_match(/over/, kept.inspect)
  end

  test "a producer without a transactional id refuses transactions" do
    plain = make(transactional: false)

    assert_raises(Penstock::ProducerNotTransactionalError) { plain.transaction { 1 } }
    refute_predicate plain, :transactional?
    refute_predicate plain, :transaction?
    plain.produce_sync(record)
    assert_equal ["x"], plain.script.calls
    plain.close
  end

  test "a producer that isn't set up refuses transactions" do
    late = Penstock::Producer.new
    assert_raises(Penstock::ConfigurationError) { late.transaction { 1 } }
    refute_predicate late, :transaction?
    late.close
  end

  test "[Offsets in transaction] the offset after a record becomes part of the transaction, and an event is emitted" do
    seen = events("transaction.marked_as_consumed")
    group = Penstock::Native::GroupMetadata.for_group("readers")
    @producer.transaction { |tx| tx.mark_as_consumed(group, Consumed.new("orders", 3, 41), "note") }

    assert_equal [[["orders", 3, 42, "note"]], group], @producer.script.given.find { |given| given.size == 3 }.first(2)
    assert_equal %i[init begin offsets commit], calls
    assert_equal ["transaction.marked_as_consumed"], seen
  end

  test "[mark outside] marking outside a transaction raises" do
    assert_raises(Penstock::TransactionRequiredError) do
      @producer.transaction_mark_as_consumed(nil, Consumed.new("orders", 0, 1))
    end
  end

  test "marking requires a record with an offset and a consumer with a group" do
    group = Penstock::Native::GroupMetadata.for_group("readers")
    [[group, Consumed.new("orders", nil, 1)], [group, "x"], [group, Consumed.new("orders", 0, -1)],
      [Object.new, Consumed.new("orders", 0, 1)]].each do |consumer, record|
      assert_raises(Penstock::TransactionalOffsetInvalidError) do
        @producer.transaction { |tx| tx.mark_as_consumed(consumer, record) }
      end
    end
  end

  test "a refused offset aborts the transaction" do
    @producer.script.answer(:offsets, FakeTransactions.abortable)
    group = Penstock::Native::GroupMetadata.for_group("readers")

    assert_raises(Penstock::KafkaError) { @producer.transaction { |tx| tx.mark_as_consumed(group, Consumed.new("a", 0, 1)) } }
    assert_equal %i[init begin offsets abort], calls
  end

  test "[Close in transaction] a close inside a transaction raises" do
    @producer.transaction do
      assert_raises(Penstock::ProducerTransactionalCloseAttemptError) { @producer.close }
    end

    assert_predicate @producer.status, :connected?
  end

  test "a close by another thread waits for the transaction, then sends the buffer in a last one" do
    @producer.buffer(record("last"))
    inside = Queue.new
    go_on = Queue.new
    worker = Thread.new { @producer.transaction { |tx| (inside << 1) && go_on.pop && tx.produce_async(record("mine")) } }
    inside.pop
    closer = Thread.new { @producer.close(timeout_ms: 10_000) }
    wait_until(5, "a waiting thread") { closer.status == "sleep" }
    go_on << true
    [worker, closer].each(&:join)

    assert_equal [:init, :begin, "mine", :commit, :begin, "last", :commit], calls
    assert_raises(Penstock::ProducerClosedError) { @producer.transaction { 1 } }
  end

  test "several threads may close: one does, and all return when it is closed" do
    inside = Queue.new
    go_on = Queue.new
    worker = Thread.new { @producer.transaction { (inside << 1) && go_on.pop } }
    inside.pop
    @producer.buffer(record("last"))
    closers = Array.new(3) { Thread.new { @producer.close(timeout_ms: 10_000) } }
    wait_until(5, "waiting threads") { closers.all? { |closer| closer.status == "sleep" } }
    go_on << true
    [worker, *closers].each(&:join)

    assert_predicate @producer, :closed?
    assert_equal [:begin, "last", :commit], calls.last(3)
  end

  test "a listener of the end of a transaction may produce" do
    heard = 0
    @producer.monitor.subscribe("transaction.committed") do
      @producer.produce_sync(record("told")) if (heard += 1) == 1
    end
    @producer.produce_sync(record("first"))

    assert_equal [:init, :begin, "first", :commit, :begin, "told", :commit], calls
  end

  test "a close keeps its time limit while a block still runs" do
    inside = Queue.new
    worker = quietly { @producer.transaction { (inside << 1) && Queue.new.pop } }
    inside.pop
    @producer.close(timeout_ms: 50)

    assert_predicate @producer, :closed?
  ensure
    worker.kill.join
  end

  test "a message dispatched without waiting is sent in a transaction of its own, even while another is open" do
    ready = @producer.ready(record("letter"))
    handle = nil
    @producer.transaction do
      handle = @producer.dispatch(ready)
      refute_predicate handle, :done?
    end
    wait_until(5, "a resolved handle") { handle.done? }

    assert_predicate handle.create_result, :delivered?
    assert_equal [:init, :begin, :commit, :begin, "letter", :commit], calls
    @producer.close
    assert_raises(Penstock::ProducerClosedError) { @producer.dispatch(ready) }
  end

  test "a lost client is replaced, with events before and after, and the next call uses the new one" do
    seen = events("producer.reload", "producer.reloaded", "producer.connected")
    @producer.script.answer(:begin, FakeTransactions.fatal)
    assert_raises(Penstock::FatalError) { @producer.produce_sync(record) }
    assert_predicate @producer.status, :configured?
    assert_equal [0, nil], [@producer.queue_size, @producer.fatal_error]

    @producer.produce_sync(record("again"))
    assert_equal %w[producer.connected producer.reload producer.reloaded producer.connected], seen
    assert_equal [:init, :begin, :init, :begin, "again", :commit], calls
  end

  test "listeners of a reload may change the properties of the new client" do
    @producer.monitor.subscribe("producer.reload") { |event| event[:kafka][:"transactional.id"] = "other" }
    @producer.script.answer(:begin, FakeTransactions.fatal)
    assert_raises(Penstock::FatalError) { @producer.produce_sync(record) }

    assert_equal "other", @producer.config.kafka[:"transactional.id"]
    assert_predicate @producer.config, :frozen?
  end

  private

  def quietly(&block)
    Thread.new(&block).tap { |thread| thread.report_on_exception = false }
  end
end
