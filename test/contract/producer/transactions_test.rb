# frozen_string_literal: true

require "test_helper"
require "penstock/native/consumer"
require_relative "producer_contract"

module Penstock
  # Transactions with a real broker, and a reader of committed messages.
  class ProducerTransactionsOnRealBrokerTest < TestCase
    include TestSupport::RealBroker

    Broker = ProducerContract::Broker
    Consumed = Struct.new(:topic, :partition, :offset)
    NOTHING = -1001

    def setup
      super
      @producers = []
      @members = []
    end

    def teardown
      @producers.each { |producer| producer.close(timeout_ms: 0) }
      @members.each(&:close)
      super
    end

    def producer(name = "tx", **kafka)
      @ids ||= Hash.new { |ids, key| ids[key] = unique(key) }
      Producer.new do |config|
        config.kafka = {"bootstrap.servers": bootstrap_servers, "transactional.id": @ids[name], **kafka}
        config.wait_backoff_on_transaction_fatal_error = 100
        yield config if block_given?
      end.tap { |made| @producers << made }
    end

    def topic
      @topic ||= unique("transactions")
    end

    def record(payload)
      {topic: topic, payload: payload, partition: 0}
    end

    def member(**properties)
      TestSupport::NativeMember.new(Broker.new(bootstrap_servers), topic, **properties).tap { |made| @members << made }
    end

    # @return [Array<String>] payloads up to the last one, which it waits for
    def seen_until(last, isolation: "read_committed")
      reader = member(group_id: unique("reader"), isolation_level: isolation)
      reader.turn_until(30, "the record #{last}") { payloads(reader).include?(last) }
      payloads(reader)
    end

    def payloads(reader)
      reader.batches.values.flatten.flat_map { |batch| Array.new(batch.size) { |index| batch.payload(index) } }
    end

    # @return [Array<(Integer, String)>] the group's committed offset, {NOTHING} if there is none, and its metadata
    def committed(group)
      asker = TestSupport::NativeMember.new(Broker.new(bootstrap_servers), group_id: group)
      asker.consumer.fetch_committed(1, [[topic, 0]], timeout_ms: 10_000)
      asker.await_event(:committed, 20).last.first.values_at(2, 3)
    ensure
      asker&.close
    end

    test "[Transaction commit] a reader of committed messages sees all of a transaction" do
      sender = producer
      handles = sender.transaction { |tx| tx.produce_many_async([record("a"), record("b"), record("c")]) }

      assert(handles.all? { |handle| handle.create_result.delivered? })
      assert_equal %w[a b c], seen_until("c")
    end

    test "[Transaction abort] a reader of committed messages sees nothing of an aborted transaction, not even delivered messages" do
      sender = producer
      aborted = nil
      answer = sender.transaction do |tx|
        aborted = tx.produce_sync(record("never"))
        tx.abort
      end
      sender.produce_sync(record("end"))

      assert_nil answer
      assert_predicate aborted, :delivered?
      assert_equal %w[end], seen_until("end")
      assert_equal %w[never end], seen_until("end", isolation: "read_uncommitted")
    end

    # The coordinator is still ending the previous transaction when the next one begins, so the request for its partitions is
    # repeated again and again; without the wait for a report the client is lost within a few rounds, on a broker that isn't
    # busy. test/native/producer/transacting_test.rb has the order of the requests.
    test "an abort right after a message never loses the client (librdkafka#4849)" do
      sender = producer
      lost = []
      sender.monitor.subscribe("producer.reload") { |event| lost << event[:error] }
      25.times do |n|
        sender.produce_sync(record(n.to_s))
        sender.transaction { |tx| tx.produce_async(record("aborted")) && tx.abort }
      end
      sender.produce_sync(record("end"))

      assert_empty lost
      assert_equal [*("0".."24"), "end"], seen_until("end")
    end

    test "[Purged handles] messages discarded by an abort are reported as purged, and not as errors" do
      sender = producer("linger", "linger.ms": 5_000) { |config| config.wait_timeout_on_transaction_abort = 0 }
      told = Queue.new
      %w[message.purged error.occurred].each { |name| sender.monitor.subscribe(name) { |event| told << event.id } }
      handle = nil
      sender.transaction { |tx| (handle = tx.produce_async(record("never"))) && tx.abort }

      assert_equal :purge_queue, handle.create_result.error.code
      wait_until(10, "an event") { !told.empty? }
      sender.close
      assert_equal ["message.purged"], Array.new(told.size) { told.pop }
    end

    test "[Fenced] a producer that takes over an id fences the former owner, which stays fenced" do
      first = producer("twin")
      second = producer("twin")
      reloads = 0
      first.monitor.subscribe("producer.reload") { reloads += 1 }
      first.produce_sync(record("first"))
      second.produce_sync(record("second"))

      2.times { assert_raises(FencedError) { first.transaction { |tx| tx.produce_async(record("too late")) } } }
      assert_equal 0, reloads
      second.produce_sync(record("end"))
      assert_equal %w[first second end], seen_until("end")
    end

    test "[Interrupt in block] a killed thread leaves no open transaction" do
      sender = producer
      inside = Queue.new
      thread = Thread.new { sender.transaction { |tx| tx.produce_sync(record("killed")) && (inside << 1) && Queue.new.pop } }
      inside.pop
      thread.kill.join
      sender.produce_sync(record("end"))

      assert_equal %w[end], seen_until("end")
    end

    test "the result of an interrupted commit is known when the next transaction begins" do
      sender = producer
      ended = Queue.new
      sender.monitor.subscribe("transaction.committed") { ended << :committed }
      sender.produce_sync(record("ready"))
      thread = Thread.new { sender.transaction { |tx| tx.produce_async(record("interrupted")) } }
      thread.join(0.001)
      thread.kill.join
      sender.produce_sync(record("end"))

      assert_includes [%w[ready end], %w[ready interrupted end]], seen_until("end")
      assert_equal seen_until("end").size, ended.size
    end

    test "a forked child can't use its parent's producer, whose transactions continue" do
      sender = producer
      sender.transaction do |tx|
        tx.produce_async(record("before"))
        assert_equal [true, true], in_child { refused { tx.produce_async(record("child")) } }
        tx.produce_async(record("behind"))
      end
      assert(in_child { refused { sender.transaction { 1 } } }.last)
      sender.produce_sync(record("end"))

      assert_equal %w[before behind end], seen_until("end")
    end

    test "[Offsets in transaction] offsets are committed with the messages, or not at all" do
      sender = producer
      group = unique("group")
      metadata = Native::GroupMetadata.for_group(group)
      sender.produce_sync(record("source"))
      sender.transaction do |tx|
        tx.mark_as_consumed(metadata, Consumed.new(topic, 0, 41), "aborted")
        tx.abort
      end
      assert_equal NOTHING, committed(group).first

      sender.transaction do |tx|
        tx.mark_as_consumed(metadata, Consumed.new(topic, 0, 0), "note")
        tx.produce_async(record("end"))
      end
      assert_equal [1, "note"], committed(group)
    end

    test "a member that has left its group can't commit offsets any more" do
      sender = producer
      sender.produce_sync(record("source"))
      reader = member(group_id: unique("group"))
      reader.turn_until(30, "lanes") { reader.lanes.any? }
      metadata = reader.consumer.group_metadata
      reader.close
      error = assert_raises(KafkaError) do
        sender.transaction { |tx| tx.mark_as_consumed(metadata, Consumed.new(topic, 0, 0)) }
      end

      assert_predicate error, :abortable?
      assert_operator metadata.generation, :>, 0
      assert_predicate sender.produce_sync(record("end")), :delivered?
    end

    private

    def refused
      yield
      false
    rescue ForkedHandleError
      true
    end

    # @return [Array<Boolean>] whether it ended by itself, and the block's result
    def in_child
      pid = fork do
        exit!(yield ? 0 : 1)
      ensure
        exit!(2)
      end
      _, status = ::Process.wait2(pid)
      [status.exited?, status.success?]
    end
  end
end
