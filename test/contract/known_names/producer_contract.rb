# frozen_string_literal: true

require "logger"
require "penstock/producer"
require "support/real_broker"
require "support/rules"

module Penstock
  # The expectations that users of WaterDrop have of a producer's names: each holds, or is refused with what to do instead.
  # With any broker; including classes define `bootstrap_servers`.
  module KnownProducerContract
    extend TestSupport::Rules

    def setup
      super
      @producers = []
    end

    def teardown
      @producers.each { |one| one.close(timeout_ms: 0) }
      super
    end

    def producer(**kafka)
      Producer.new do |config|
        config.kafka = {"bootstrap.servers": bootstrap_servers, **kafka}
        config.logger = Logger.new(nil)
        yield config if block_given?
      end.tap { |made| @producers << made }
    end

    # A topic with one partition.
    def topic
      @topic ||= unique("known").tap do |name|
        Admin.open("bootstrap.servers": bootstrap_servers) { |admin| admin.create_topic(name, 1, 1) }
      end
    end

    def record(payload = "x", **more) = {topic: topic, payload: payload, **more}

    def heard(sender, *names)
      Thread::Queue.new.tap { |seen| names.each { |name| sender.monitor.subscribe(name) { |event| seen << event } } }
    end

    def await(queue, name)
      found = nil
      wait_until(20, name) { (found = queue.size.positive? && queue.pop) && found.id == name }
      found
    end

    rule "produce_sync returns a report, produce_async a handle; both have topic, partition, offset and label" do
      sender, label = producer, Object.new
      report = sender.produce_sync(record(label: label))
      handle = sender.produce_async(record(label: label))
      late = handle.wait(max_wait_timeout_ms: 20_000, raise_response_error: true)

      assert_equal [topic, topic, 0, nil], [report.topic, report.topic_name, report.partition, report.error]
      assert_equal [report.offset + 1, 0, late.offset], [late.offset, handle[:partition], handle[:offset]]
      assert_equal [topic, late, false], [handle.topic, handle.create_result, handle.pending?]
      [report, handle, late].each { |one| assert_same label, one.label }
    end

    rule "a wait that must not raise returns the report of a failed delivery, with its error" do
      sender = producer("bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 200)
      handle = sender.produce_async(record)

      assert_equal :msg_timed_out, handle.wait(raise_response_error: false).error.code
      assert_raises(KafkaError) { handle.wait }
    end

    rule "produce_many_* return handles in order; a single invalid record sends nothing" do
      sender = producer
      assert_equal [0, 1], sender.produce_many_sync([record("a"), record("b")]).map { |handle| handle[:offset] }
      assert_equal [2, 3], sender.produce_many_async([record("c"), record("d")]).map { |handle| handle.wait.offset }
      assert_raises(MessageInvalidError) { sender.produce_many_sync([record("e"), {topic: topic}]) }

      assert_equal 4, sender.produce_sync(record).offset
    end

    rule "a topic may be a Symbol, headers have several values, a timestamp is a Time or milliseconds; the Hash isn't changed" do
      sender = producer
      hash = {topic: topic.to_sym, payload: "x", key: "k", headers: {"a" => %w[1 2], "b" => "3"}, timestamp: Time.now}.freeze

      assert_equal topic, sender.produce_sync(hash).topic
      assert_predicate sender.produce_sync({**hash, timestamp: 1_700_000_000_000}), :delivered?
    end

    rule "an invalid record names what is wrong with it" do
      sender = producer
      {topic: nil, payload: 1, partition: nil, key: "", partition_key: "", headers: {a: "b"}, timestamp: "now", unknown: 1}
        .each do |key, value|
          error = assert_raises(MessageInvalidError, key) { sender.produce_async(record.merge(key => value)) }
          assert_includes error.message, (key == :headers) ? "header" : key.to_s
        end
      error = assert_raises(MessageInvalidError) { sender.produce_async(record("x" * 1_000_013)) }
      assert_includes error.message, "max_payload_size"
    end

    rule "a tombstone needs a key and a partition; a payload is dropped" do
      sender = producer
      stone = {topic: topic, key: "k", partition: 0}

      assert_equal 0, sender.tombstone_sync({**stone, payload: "dropped"}).offset
      assert_equal 1, sender.tombstone_async(stone).wait.offset
      assert_equal [2], sender.tombstone_many_sync([stone]).map { |handle| handle[:offset] }
      assert_equal [3], sender.tombstone_many_async([stone]).map { |handle| handle.wait.offset }
      %i[key partition].each do |key|
        assert_includes assert_raises(MessageInvalidError) { sender.tombstone_sync(stone.except(key)) }.message, ":#{key}"
      end
    end

    rule "the buffer is sent by flush_sync or flush_async, and dropped by purge; a flush of nothing returns nothing" do
      sender = producer
      assert_equal [], sender.flush_sync
      assert_equal 1, sender.buffer(record).size
      sender.buffer_many([record, record])
      assert_equal 3, sender.messages.size
      assert_equal 0, sender.queue_size
      assert_equal [0, 1, 2], sender.flush_sync.map { |handle| handle[:offset] }
      sender.buffer(record)
      assert_equal [3], sender.flush_async.map { |handle| handle.wait.offset }
      sender.buffer(record)
      sender.purge

      assert_empty sender.messages
      assert_equal 4, sender.produce_sync(record).offset
    end

    rule "a failed flush puts what wasn't sent back, in order" do
      sender = producer
      sender.buffer_many([record("1"), {topic: topic}, record("3")])
      assert_raises(MessageInvalidError) { sender.flush_sync }

      assert_equal ["1", nil, "3"], sender.messages.map { |one| one[:payload] }
      sender.purge
    end

    rule "middleware runs once per record, before it is checked: prepended steps before appended ones" do
      sender = producer
      sent = heard(sender, "message.produced_sync", "buffer.flushed_sync")
      sender.middleware.append(->(hash) { hash.merge(payload: "#{hash[:payload]}A") })
      sender.middleware.prepend(->(hash) { hash.merge(payload: "#{hash[:payload]}P") })
      sender.produce_sync(record("x"))
      assert_equal "xPA", await(sent, "message.produced_sync")[:message][:payload]
      sender.buffer(record("y"))
      sender.flush_sync

      assert_equal %w[yPA], await(sent, "buffer.flushed_sync")[:messages].map { |one| one[:payload] }
    end

    rule "a variant has the producer's methods and other settings; what can't differ is refused" do
      sender = producer("enable.idempotence": false)
      variant = sender.with(max_wait_timeout: 15_000, topic_config: {acks: 1})

      assert_equal 0, variant.produce_sync(record).offset
      assert_equal sender.config.max_wait_timeout, sender.variant(topic_config: {"compression.type": "gzip"}).max_wait_timeout
      assert_equal [15_000, "1"], [variant.max_wait_timeout, variant.topic_config.transform_keys(&:to_s)["acks"].to_s]
      [{"linger.ms": 1}, {"acks" => 1}].each do |refused|
        assert_raises(VariantInvalidError, refused) { sender.with(topic_config: refused) }
      end
      assert_includes assert_raises(VariantInvalidError) { producer.with(topic_config: {acks: 1}) }.message, "enable.idempotence"
    end

    rule "its state is readable, and closing it is final; a second setup is refused" do
      sender = producer
      states = %i[configured? active? connected? closed?]
      assert_equal [true, true, false, false], states.map { |name| sender.status.public_send(name) }
      sender.produce_sync(record)
      assert_equal [true, true, "connected"], [sender.status.connected?, sender.disconnectable?, sender.status.to_s]
      assert_equal [true, "disconnected"], [sender.disconnect, sender.status.to_s]
      assert_equal 1, sender.produce_sync(record).offset
      assert_includes assert_raises(ConfigurationError) { sender.setup { nil } }.message, "configured already"
      sender.close(force: true)
      sender.close!

      assert_predicate sender.status, :closed?
      [:produce_sync, :produce_async, :buffer].each do |name|
        assert_raises(ProducerClosedError, name) { sender.public_send(name, record) }
      end
      assert_raises(ConfigurationError) { Producer.new.produce_sync(record) }
    end

    rule "events have the names and the keys that listeners read" do
      sender = producer
      id = sender.id
      keys = {
        "producer.connected" => [], "message.produced_sync" => [:message, :time], "message.produced_async" => [:message, :time],
        "messages.produced_sync" => [:messages, :time], "messages.produced_async" => [:messages, :time],
        "message.acknowledged" => %i[topic partition offset delivery_report label], "message.buffered" => %i[message buffer],
        "messages.buffered" => %i[messages buffer], "buffer.flushed_sync" => [:messages, :time],
        "buffer.flushed_async" => [:messages, :time], "buffer.purged" => [], "producer.closing" => [],
        "producer.closed" => [:time]
      }
      seen = heard(sender, *keys.keys)
      sender.produce_sync(record)
      sender.produce_async(record).wait
      sender.produce_many_sync([record])
      sender.produce_many_async([record]).each(&:wait)
      sender.buffer(record)
      sender.buffer_many([record])
      sender.flush_sync
      sender.buffer(record)
      sender.flush_async.each(&:wait)
      sender.buffer(record)
      sender.purge
      sender.close
      events = Array.new(seen.size) { seen.pop }.group_by(&:id)

      keys.each do |name, wanted|
        event = events.fetch(name).first
        assert_equal [id, []], [event[:producer_id], wanted - event.payload.keys], name
      end
    end

    rule "a failed delivery is an error for the caller and for listeners, each with its type" do
      sender = producer("bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 200)
      errors = heard(sender, "error.occurred")
      raised = assert_raises(ProduceError) { sender.produce_sync(record(label: 5)) }
      assert_kind_of KafkaError, raised.cause
      many = assert_raises(ProduceManyError) { sender.produce_many_sync([record]) }
      assert_equal [1, true], [many.dispatched.size, many.is_a?(ProduceError)]
      wanted = %w[librdkafka.dispatch_error message.produce_sync messages.produce_many_sync]
      found = {}
      wait_until(20, "all types", state: -> { found.keys }) do
        found[errors.pop.then { |event| (@last = event)[:type] }] ||= @last until errors.empty?
        (wanted - found.keys).empty?
      end

      assert_equal [5, topic], found["librdkafka.dispatch_error"].payload.values_at(:label, :topic)
      assert_equal topic, found["message.produce_sync"][:message][:topic]
      assert_equal 1, found["messages.produce_many_sync"][:messages].size
      found.each_value { |event| assert_equal sender.id, event[:producer_id] }
    end

    rule "statistics are emitted where somebody listens before the first record, with changes as _d" do
      sender = producer("statistics.interval.ms": 100)
      seen = heard(sender, "statistics.emitted")
      sender.produce_sync(record)
      event = await(seen, "statistics.emitted")

      assert_equal [sender.id, true, true], [event[:producer_id], event[:statistics].key?("tx"), event[:statistics].key?("tx_d")]
      late = producer("statistics.interval.ms": 100)
      late.produce_sync(record)
      assert_raises(StatisticsNotEnabledError) { late.monitor.subscribe("statistics.emitted") { nil } }
    end

    rule "events that WaterDrop has and Penstock doesn't are refused when they are subscribed to" do
      sender = producer
      %w[producer.created producer.configured poller.producer_registered connection_pool.setup message.sent].each do |name|
        error = assert_raises(UnknownEventError, name) { sender.monitor.subscribe(name) { nil } }
        assert_operator error.message.size, :>, "there is no event #{name.inspect}. ".size, name
      end
    end

    rule "settings of a producer keep their names; those that don't exist are refused with what to do instead" do
      kept = {
        id: "mine", max_payload_size: 5, max_wait_timeout: 200_000, wait_on_queue_full: false, wait_backoff_on_queue_full: 5,
        wait_timeout_on_queue_full: 5, instrument_on_wait_queue_full: false, wait_backoff_on_transaction_command: 5,
        max_attempts_on_transaction_command: 5, reload_on_transaction_fatal_error: false,
        wait_backoff_on_transaction_fatal_error: 5, max_attempts_on_transaction_fatal_error: 5,
        reload_on_idempotent_fatal_error: false, wait_backoff_on_idempotent_fatal_error: 5,
        max_attempts_on_idempotent_fatal_error: 5, wait_timeout_on_transaction_abort: 0, non_reloadable_errors: %i[fenced],
        idle_disconnect_timeout: 30_000, deliver: false
      }
      sender = producer { |config| kept.each { |name, value| config.public_send(:"#{name}=", value) } }
      assert_equal kept, kept.keys.to_h { |name| [name, sender.config.public_send(name)] }
      refused = assert_raises(ConfigurationError) do
        producer do |config|
          config.polling.mode = :thread
          config.polling.fd.max_time = 5
          config.statistics_decorator = 1
          config.max_wait = 1
        end
      end

      ["a thread in C polls", "_d", "config.max_wait:"].each { |word| assert_includes refused.message, word }
    end

    rule "[Transaction commit] a block returns its value, AbortTransaction aborts quietly, other errors abort and are raised" do
      sender = producer("transactional.id": unique("transactional"))
      told = heard(sender, *%w[started committed aborted finished].map { |name| "transaction.#{name}" })
      assert_equal 5, sender.transaction { sender.produce_async(record) && 5 }
      assert_nil sender.transaction { raise AbortTransaction }
      assert_equal "mine", assert_raises(RuntimeError) { sender.transaction { raise "mine" } }.message
      assert_raises(EarlyTransactionExitNotAllowedError) { [1].each { sender.transaction { break } } }
      assert_equal [true, false], [sender.transaction { sender.transaction { sender.transaction? } }, sender.transaction?]

      assert_equal %w[started committed finished], Array.new(3) { told.pop.id.delete_prefix("transaction.") }
      assert_equal %w[started aborted finished] * 3, Array.new(9) { told.pop.id.delete_prefix("transaction.") }
      assert_equal [true, true], [sender.transactional?, sender.idempotent?]
      assert_raises(ProducerNotTransactionalError) { producer.transaction { nil } }
      assert_raises(TransactionRequiredError) { sender.transaction_mark_as_consumed(nil, nil) }
    end

    rule "a single record of a transactional producer is a transaction of its own, and so are many at once" do
      sender = producer("transactional.id": unique("transactional"))
      told = heard(sender, "transaction.committed")
      sender.produce_sync(record)
      sender.produce_many_sync([record, record])

      assert_equal 2, told.size
      inside = assert_raises(ProducerTransactionalCloseAttemptError) { sender.transaction { sender.close } }
      assert_includes inside.message, "after the block"
    end
  end
end
