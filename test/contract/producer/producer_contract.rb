# frozen_string_literal: true

require "penstock/producer"
require "support/native_member"
require "support/real_broker"

module Penstock
  # Behaviour of Penstock::Producer with any broker. Including classes define `bootstrap_servers`.
  module ProducerContract
    include TestSupport::RealBroker

    Broker = Struct.new(:bootstrap_servers)

    def setup
      super
      @producers = []
    end

    def teardown
      @producers.each { |producer| producer.close(timeout_ms: 0) }
      super
    end

    # @return [Producer] closed at teardown
    def producer(kafka: {})
      Producer.new do |config|
        config.kafka = {"bootstrap.servers": bootstrap_servers, **kafka}
        yield config if block_given?
      end.tap { |made| @producers << made }
    end

    # @return [String] a topic of this test only, which exists when this returns
    def topic
      @topic ||= unique("produced").tap do |name|
        sender = producer
        wait_until(20, "topic #{name}") { sender.partition_count(name).positive? || touch(sender, name) }
        sender.close
      end
    end

    def touch(sender, name)
      sender.produce_sync(topic: name, payload: "made", partition: 0, label: :warm)
    end

    def events(producer, *names)
      Queue.new.tap { |seen| names.each { |name| producer.monitor.subscribe(name) { |event| seen << event } } }
    end

    def all(queue)
      Array.new(queue.size) { queue.pop }
    end

    # @return [Array<Array>] payload, key, headers, timestamp of the records from an offset on
    def records(name, partition, from, count)
      member = TestSupport::NativeMember.new(Broker.new(bootstrap_servers), name, group_id: unique("reader"), **reader)
      member.turn_until(20, "records") { (member.offsets[[name, partition]] & (from...(from + count)).to_a).size == count }
      member.batches[[name, partition]].flat_map { |batch| rows(batch, from...(from + count)) }
    ensure
      member&.close
    end

    def rows(batch, wanted)
      (0...batch.size).select { |index| wanted.cover?(batch.offset(index)) }.map do |index|
        [batch.payload(index), batch.key(index), batch.headers(index), batch.timestamp(index)]
      end
    end

    def self.included(base) # rubocop:disable Metrics/MethodLength -- a list of tests
      base.class_eval do
        test "[Lazy connect] setup opens no client, the first message does" do
          sender = producer
          threads = Native.thread_count

          assert_predicate sender.status, :configured?
          assert_equal 0, sender.queue_size
          sender.produce_sync(topic: topic, payload: "x")
          assert_predicate sender.status, :connected?
          assert_operator Native.thread_count, :>, threads
        end

        test "[produce_sync] the report has topic, partition and offset" do
          sender = producer
          reports = Array.new(3) { sender.produce_sync(topic: topic, payload: "x", partition: 0) }

          assert_equal [topic], reports.map(&:topic).uniq
          assert_equal [0], reports.map(&:partition).uniq
          assert_equal [1, 1], reports.map(&:offset).each_cons(2).map { |one, two| two - one }
          assert(reports.all?(&:delivered?))
        end

        test "[produce_async] the handle is pending, then resolved" do
          handle = producer(kafka: {"linger.ms": 300}).produce_async(topic: topic, payload: "x")

          assert_predicate handle, :pending?
          assert_equal [nil, nil], [handle.create_result, handle.uid]
          report = handle.wait(timeout_ms: 20_000)
          assert_equal "#{report.topic}/#{report.partition}/#{report.offset}", handle.uid
          refute_predicate handle, :pending?
          assert_equal [report.partition, report.offset, topic], [handle[:partition], handle[:offset], handle.topic]
          assert_same report, handle.wait
        end

        test "[Headers arrays] payload, key, timestamp and headers with several values arrive unchanged" do
          name = topic
          binary = (0..255).to_a.pack("C*")
          report = producer.produce_sync(topic: name, payload: binary, key: "ключ", partition: 0,
            timestamp: Time.at(1_700_000_000, 123, :millisecond),
            headers: {"many" => ["a", "b", nil], "one" => "c", "nil" => nil})
          producer.produce_sync(topic: name, payload: nil, key: "k", partition: 0)
          row, tombstone = records(name, 0, report.offset, 2)

          assert_equal [binary, "ключ".b], row.first(2)
          assert_equal({"many" => ["a", "b", nil], "one" => "c", "nil" => nil}, row[2])
          assert_equal 1_700_000_000_123, row[3] if stamps?
          assert_equal [nil, "k"], tombstone.first(2)
        end

        test "many are delivered in their order, with handles and without" do
          sender = producer
          messages = Array.new(3_000) { |index| {topic: topic, payload: index.to_s, partition: 0} }
          offsets = sender.produce_many_sync(messages).map(&:offset)

          assert_equal (offsets.first...(offsets.first + 3_000)).to_a, offsets
          assert_equal 3_000, sender.produce_many_async(messages, handle: false).count(true)
          assert sender.flush(20_000)
          assert_equal offsets.last + 3_001, sender.produce_sync(messages.first).offset
        end

        test "many threads share one producer" do
          name = topic
          sender = producer
          produce = -> { sender.produce_sync(topic: name, payload: "x", partition: 0).offset }
          offsets = Array.new(8) { Thread.new { Array.new(50) { produce.call } } }.flat_map(&:value)

          assert_equal 400, offsets.uniq.size
          assert_equal offsets.max - offsets.min, 399
        end

        test "[wait no-raise] a failed delivery's report carries the error" do
          handle = producer(kafka: {"message.timeout.ms": 2_000}).produce_async(topic: topic, payload: "x", partition: 999)
          report = handle.wait(timeout_ms: 20_000, raise_response_error: false)

          assert_includes %i[unknown_partition msg_timed_out], report.error.code
          assert_equal :failed, report.outcome
          assert_raises(KafkaError) { handle.wait(max_wait_timeout_ms: 0) }
        rescue ProduceError => error
          # The client already knew that there is no such partition.
          assert_equal :unknown_partition, error.code
        end

        test "[Label] the handle, the report and the event have the same object" do
          sender = producer
          seen = events(sender, "message.acknowledged")
          label = Object.new
          handle = sender.produce_async(topic: topic, payload: "x", label: label)
          event = wait_until(10, "event") { seen.pop unless seen.empty? }

          assert_same label, handle.label
          assert_same label, handle.wait.label
          assert_same label, event[:label]
          assert_same label, event[:delivery_report].label
          assert_equal [sender.id, topic, handle.partition, handle.offset], %i[producer_id topic partition offset]
            .map { |key| event[key] }
        end

        test "every message is acknowledged once to listeners, even those without a handle" do
          sender = producer
          seen = events(sender, "message.acknowledged", "error.occurred")
          200.times { |index| sender.produce_async(topic: topic, payload: "x", handle: index.even?) }
          sender.produce_many_async(Array.new(300) { {topic: topic, payload: "x"} }, handle: false)
          sender.close

          assert_equal 500, all(seen).count { |event| event.id == "message.acknowledged" }
        end

        test "a late subscriber gets events from then on" do
          sender = producer
          sender.produce_sync(topic: topic, payload: "before")
          seen = events(sender, "message.acknowledged")
          sender.produce_async(topic: topic, payload: "after")

          assert wait_until(10, "event") { seen.pop unless seen.empty? }
        end

        test "a listener may produce, and may close the producer" do
          name = topic
          sender = producer
          sender.monitor.subscribe("message.acknowledged") do |event|
            sender.produce_sync(topic: name, payload: "echo") if event[:label] == :first
            sender.close if event[:label] == :last
          end
          sender.produce_sync(topic: name, payload: "x", label: :first)
          sender.produce_async(topic: name, payload: "x", label: :last)

          wait_until(20, "closed producer") { sender.closed? }
          assert_predicate sender, :closed?
        end

        test "a partition key chooses by the number of partitions" do
          sender = producer(kafka: {partitioner: "murmur2_random"})
          count = sender.partition_count(topic)
          report = sender.produce_sync(topic: topic, payload: "x", partition_key: "21")

          assert_equal (-973_932_308 & 0x7fffffff) % count, report.partition
        end

        test "statistics are emitted to listeners subscribed when the client is created" do
          sender = producer(kafka: {"statistics.interval.ms": 100})
          seen = events(sender, "statistics.emitted")
          sender.produce_sync(topic: topic, payload: "x")
          event = wait_until(10, "statistics") { seen.pop unless seen.empty? }

          assert_equal sender.id, event[:producer_id]
          assert_equal "producer", event[:statistics]["type"]
          assert_equal [0, 0], event[:statistics].values_at("txmsgs_d", "txmsgs_fd"), "the first has nothing to compare with"
        end

        test "close delivers messages in flight" do
          sender = producer(kafka: {"linger.ms": 500})
          handles = Array.new(50) { sender.produce_async(topic: topic, payload: "x") }
          sender.close(timeout_ms: 20_000)

          assert(handles.all? { |handle| handle.wait.delivered? })
          assert_raises(ProducerClosedError) { sender.produce_async(topic: topic, payload: "x") }
        end

        test "[Fork unused] a producer set up before a fork sends in the child and in the parent" do
          sender = producer
          name = topic
          assert_equal "delivered", in_child { sender.produce_sync(topic: name, payload: "x").outcome.tap { sender.close } }
          assert_predicate sender.produce_sync(topic: name, payload: "x"), :delivered?
        end

        test "[Fork used] a producer that was used before a fork raises in the child, and the parent's keeps working" do
          sender = producer
          name = topic
          handle = sender.produce_async(topic: name, payload: "x")
          uses = [-> { sender.produce_sync(topic: name, payload: "x") }, -> { sender.produce_async(topic: name, payload: "x") },
            -> { sender.produce_many_async([{topic: name, payload: "x"}]) }, -> { sender.flush(10) }]

          assert_equal "ForkedHandleError " * uses.size, in_child {
            uses.map { |use| "#{assert_raises(Error, &use).class.name[/\w+\z/]} " }.join.tap { sender.close }
          }
          assert_predicate handle.wait, :delivered?
          assert_predicate sender.produce_sync(topic: name, payload: "x"), :delivered?
        end

        test "a buffer filled before a fork is sent by the parent only" do
          sender = producer
          sender.buffer(topic: topic, payload: "x")

          assert_equal "[]", in_child { sender.flush_sync.tap { sender.close }.inspect }
          assert_equal 1, sender.flush_sync.size
        end
      end
    end

    private

    # Whether this broker keeps timestamps.
    def stamps?
      true
    end

    # Consumer properties for this broker.
    def reader
      {session_timeout_ms: 6_000}
    end

    def in_child
      reader, writer = IO.pipe
      pid = fork do
        writer.write(yield.to_s)
      rescue Exception => error # rubocop:disable Lint/RescueException -- the root of a process: told to the parent
        writer.write("#{error.class}: #{error.message}")
      ensure
        writer.close
        exit!(0)
      end
      writer.close
      reader.read.tap { ::Process.wait(pid) }
    ensure
      reader.close
    end
  end
end
