# frozen_string_literal: true

require "test_helper"
require "penstock/native/consumer"
require "support/native_producing"
require "support/real_broker"

# The mock cluster implements transactions; isolation, fencing and the race at a transaction's end need the real broker.
class NativeTransactionsTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing
  include Penstock::TestSupport::RealBroker

  GroupMetadata = Penstock::Native::GroupMetadata
  LONG_MS = 30_000

  test "messages of a committed transaction are delivered, and the next may begin" do
    native = transactional

    2.times { assert_equal 0, committed(native) { dispatch(native) }.number }
  end

  test "an abort purges queued messages" do
    native = transactional(linger_ms: 5_000)
    native.begin_transaction
    delivery = dispatch(native)
    native.abort_transaction(LONG_MS)

    assert_equal :purge_queue, delivery.error.code
  end

  test "a call in the wrong state is an error that can't be retried" do
    error = assert_raises(Penstock::KafkaError) { transactional.commit_transaction(LONG_MS) }

    assert_equal :state, error.code
    assert_equal [false, false, false], flags(error)
  end

  test "a call that times out is retriable" do
    native = stranded_producer(transactional_id: "alone")
    error = assert_raises(Penstock::RetriableError) { native.init_transactions(20) }

    assert_equal [true, false, false], flags(error)
  end

  test "a transaction whose offsets are refused must be aborted, and the next one may begin" do
    native = transactional
    native.begin_transaction
    cluster.push_request_errors(:txn_offset_commit, [:group_authorization_failed])
    error = assert_raises(Penstock::KafkaError) { native.send_offsets_to_transaction([["things", 0, 1]], group, LONG_MS) }

    assert_equal [false, true, false], flags(error)
    native.abort_transaction(LONG_MS)
    committed(native) { dispatch(native) }
  end

  test "after a fatal error every call is refused with it" do
    native = transactional
    cluster.push_request_errors(24, [:invalid_producer_epoch])
    native.begin_transaction
    dispatch(native)
    assert_raises(Penstock::FencedError) { native.commit_transaction(LONG_MS) }
    error = assert_raises(Penstock::FencedError) { native.abort_transaction(LONG_MS) }

    assert_equal [false, false, true], flags(error)
  end

  test "an interrupted call continues, and its result is returned when it is called again" do
    native = transactional
    native.begin_transaction
    dispatch(native)
    interrupt_commit(native)

    assert_equal :commit, native.transaction_call
    assert_nil native.commit_transaction(LONG_MS)
    assert_nil native.transaction_call
    committed(native) { dispatch(native) }
  end

  test "another call during an interrupted one waits for its end" do
    native = transactional
    native.begin_transaction
    dispatch(native)
    interrupt_commit(native)

    native.begin_transaction
    assert_nil native.transaction_call
    native.commit_transaction(LONG_MS)
  end

  test "two threads are never in transaction calls at the same time" do
    native = stranded_producer(transactional_id: "alone")
    thread = waiting { native.init_transactions(LONG_MS) }

    assert_equal :conflict, assert_raises(Penstock::KafkaError) { native.init_transactions(LONG_MS) }.code
  ensure
    thread.kill.join
  end

  test "a call ends at its timeout, and when its thread is killed" do
    native = stranded_producer(transactional_id: "alone")
    took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { native.init_transactions(LONG_MS) } } }

    assert_operator took, :<, 5
    thread = waiting { native.init_transactions(LONG_MS) }
    assert_operator seconds { thread.kill.join }, :<, 5
  end

  test "transactions in quick succession share a thread, which ends with the producer" do
    skip "needs /proc" unless File.directory?("/proc/self/task")
    others = helpers
    native = transactional
    3.times { committed(native) { dispatch(native) } }

    assert_operator (helpers - others).size, :<=, 1
    native.close(LONG_MS)
    wait_until(40, "no thread for transactions") { (helpers - others).empty? }
  end

  test "offsets must be a list of partitions, and the group an object of its own class" do
    native = transactional

    assert_raises(TypeError) { native.send_offsets_to_transaction([["things", 0, 1]], "group", LONG_MS) }
    assert_raises(TypeError) { native.send_offsets_to_transaction("things", group, LONG_MS) }
  end

  test "a group's metadata is a value: it outlives its consumer, in any thread" do
    consumer = Penstock::Native::Consumer.new({"bootstrap.servers" => cluster.bootstrap_servers, "group.id" => "readers"})
    metadata = consumer.group_metadata
    consumer.close(1_000)

    assert_equal ["readers", -1, "", nil], Thread.new {
      [metadata.group_id, metadata.generation, metadata.member_id, metadata.instance_id]
    }.value
    assert_predicate metadata, :frozen?
  end

  test "a producer without a transactional id refuses transaction calls" do
    assert_equal :not_configured, assert_raises(Penstock::KafkaError) { producer.begin_transaction }.code
  end

  test "a producer that takes over a transactional id fences its former owner" do
    old, new = Array.new(2) { real("twins") }
    old.begin_transaction
    old.produce(topic, "too late")

    assert_raises(Penstock::FencedError) { old.commit_transaction(LONG_MS) }
    committed(new) { new.produce(topic, "in time") }
  end

  # librdkafka#4849: an abort that overtakes the registration of its partitions ends the producer. Here it follows directly
  # after a commit, whose end the coordinator is still writing.
  test "an abort after the first report of its transaction never meets a state of the previous one" do
    native = real("racer")
    40.times do
      committed(native) { native.produce(topic, "x") }
      native.begin_transaction
      native.produce(topic, "y").wait(LONG_MS)
      native.abort_transaction(LONG_MS)
    end

    assert_nil native.fatal_error
  end

  private

  def transactional(**properties)
    producer(transactional_id: unique("tx"), **properties).tap { |native| native.init_transactions(LONG_MS) }
  end

  # Each with the same id, as often as a test calls it.
  def real(id)
    @ids ||= Hash.new { |ids, name| ids[name] = unique(name) }
    producer_on(bootstrap_servers, transactional_id: @ids[id]).tap { |native| native.init_transactions(LONG_MS) }
  end

  def topic
    @topic ||= unique("transactions")
  end

  def group
    GroupMetadata.for_group("readers")
  end

  def committed(native)
    native.begin_transaction
    yield.tap { native.commit_transaction(LONG_MS) }
  end

  # @return [Array<String>] ids of the threads that make transaction calls
  def helpers
    Dir.children("/proc/self/task").select { |id| name_of(id) == "pk:transaction" }
  end

  def name_of(id)
    File.read("/proc/self/task/#{id}/comm").chomp
  rescue SystemCallError
    nil
  end

  def flags(error)
    [error.retriable?, error.abortable?, error.fatal?]
  end

  def waiting(&block)
    Thread.new(&block).tap do |thread|
      thread.report_on_exception = false
      wait_until(5, "a thread in its call") { thread.status == "sleep" }
    end
  end

  # The answer takes half a second, so that the thread is still waiting when it is killed.
  def interrupt_commit(native)
    cluster.push_broker_request_errors(1, 26, [[0, 500]])
    waiting { native.commit_transaction(LONG_MS) }.kill.join
  end
end
