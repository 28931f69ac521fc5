# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "support/native_producing"

# Penstock::Producer's transactions with a mock cluster that answers as a test specifies and records its requests.
class ProducerTransactingOnMockTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  # The coordinator is busy with the previous transaction: retry.
  LATE = [:concurrent_transactions] * 3

  def teardown
    @producer&.close(timeout_ms: 0)
    super
  end

  def sender(**settings)
    @producer ||= Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "t"}
      config.wait_backoff_on_transaction_fatal_error = 0
      settings.each { |name, value| config.public_send(:"#{name}=", value) }
    end
  end

  def thing(payload = "x")
    {topic: "things", payload: payload, partition: 0}
  end

  # @return [Array<Symbol>] requests to the coordinator and the partition's leader during the block
  def asked
    cluster.track_requests
    yield
    cluster.requests.map { |_, kind, _| kind } & %i[add_partitions_to_txn produce end_txn]
  ensure
    cluster.track_requests(false)
  end

  def abort_at_once
    sender.transaction { |tx| tx.produce_async(thing) && tx.abort }
  end

  test "an abort is sent after the registration of its partitions, however late that is (librdkafka#4849)" do
    sender.produce_sync(thing)
    cluster.push_request_errors(:add_partitions_to_txn, LATE)

    assert_equal %i[add_partitions_to_txn produce end_txn], asked { abort_at_once }
  end

  test "without the wait the abort overtakes the registration" do
    sender(wait_timeout_on_transaction_abort: 0).produce_sync(thing)
    cluster.push_request_errors(:add_partitions_to_txn, LATE)

    refute_includes asked { abort_at_once }, :produce
  end

  test "an abort without messages sends no request" do
    sender.produce_sync(thing)

    assert_empty(asked { sender.transaction(&:abort) })
  end

  test "a lost client is replaced, and the next transaction uses the new one" do
    sender.produce_sync(thing)
    connected = 0
    sender.monitor.subscribe("producer.connected") { connected += 1 }
    cluster.push_request_errors(:end_txn, [:invalid_txn_state])
    error = assert_raises(Penstock::FatalError) { sender.produce_sync(thing) }

    assert_equal :invalid_txn_state, error.code
    assert_predicate sender.produce_sync(thing), :delivered?
    assert_equal 1, connected
  end

  test "where a right is missing, each call in the transaction gets that error, and the next transaction works" do
    sender.produce_sync(thing)
    cluster.push_request_errors(:add_partitions_to_txn, [:topic_authorization_failed])
    waited, refused, many = nil
    assert_raises(Penstock::KafkaError) do
      sender.transaction do |tx|
        waited = assert_raises(Penstock::ProduceError) { tx.produce_sync(thing) }
        refused = assert_raises(Penstock::ProduceError) { tx.produce_async(thing) }
        many = assert_raises(Penstock::ProduceManyError) { tx.produce_many_sync([thing]) }
      end
    end

    [waited, refused, many].each do |error|
      assert_equal [:topic_authorization_failed, true], [error.code, error.cause.abortable?]
      assert_match(/\Athings: Failed to add partition.*Topic authorization failed.*WRITE/, error.message)
    end
    assert_predicate sender.produce_sync(thing), :delivered?
  end

  test "after the coordinator has moved the transaction is still committed" do
    sender.produce_sync(thing)
    cluster.push_request_errors(:end_txn, %i[coordinator_not_available not_coordinator])

    assert_predicate sender.produce_sync(thing), :delivered?
  end

  test "the result of an interrupted commit is known before the next transaction begins" do
    sender.produce_sync(thing)
    ends = []
    %w[transaction.started transaction.committed].each { |name| sender.monitor.subscribe(name) { |event| ends << event.id } }
    cluster.push_broker_request_errors(1, :end_txn, [[0, 500]])
    thread = Thread.new { sender.transaction { |tx| tx.produce_sync(thing) } }
    native = sender.client
    wait_until(5, "a commit") { native.transaction_call == :commit }
    thread.kill.join
    sender.produce_sync(thing)

    assert_equal %w[started committed started committed], ends.map { |name| name.delete_prefix("transaction.") }
  end
end
