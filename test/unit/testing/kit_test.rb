# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"

module Penstock
  class KitTest < TestCase
    include TestSupport::KitExamples

    # -- building consumers --

    test "[consumer_for] the consumer of the route is built, with its topic, partition, tags and first attempt" do
      consumer = kit.consumer_for(:orders)

      assert_instance_of BlockConsumer, consumer
      assert_equal ["orders", 0, 1, false], [consumer.topic.name, consumer.partition, consumer.attempt, consumer.retrying?]
      assert_equal "shop", consumer.topic.consumer_group_id
      assert_empty consumer.messages.to_a
      refute_predicate consumer, :stopping?
      assert_predicate consumer, :used?
    end

    test "[consumer_for] the route decides what it can do: dead letters only where it has a queue" do
      assert_respond_to kit.consumer_for(:with_dead_letters), :dispatch_to_dlq
      refute_respond_to kit.consumer_for(:orders), :dispatch_to_dlq
      error = assert_raises(NoMethodError) { kit.consumer_for(:orders).dispatch_to_dlq(nil) }
      assert_match(/add `dead_letter_queue topic: "orders.dead"` to the route of orders/, error.message)
    end

    test "[consumer_for] partition and attempt can be chosen" do
      consumer = kit.consumer_for(:orders, partition: 3, attempt: 2)

      assert_equal [3, 2, true], [consumer.partition, consumer.attempt, consumer.retrying?]
    end

    test "[consumer_for] initialized runs when a consumer is built, knows its topic, and its error is raised" do
      seen = []
      type = Class.new(BaseConsumer) do
        define_method(:initialized) { seen << [topic.name, used?] && (raise "no database" if seen.size > 1) }
        def consume = nil
      end
      @penstock_application = application(proc { topic(:orders) { consumer type } })
      kit.consumer_for(:orders)

      assert_equal [["orders", false]], seen
      assert_equal "no database", assert_raises(RuntimeError) { kit.consumer_for(:orders) }.message
    end

    test "[Pattern by name] the consumer of a pattern is found by the pattern's name, and by a topic that matches" do
      assert_equal "visits", kit.consumer_for(:visits).topic.name
      kit.produce("{}", topic: :visits)
      assert_equal 1, kit.consumer_messages.size
      consumer = kit.consumer_for("shop_visits")

      assert_equal "shop_visits", consumer.topic.name
      assert_predicate consumer.topic, :discovered?
    end

    test "[Two groups] a topic of several groups needs a group" do
      error = assert_raises(Testing::TopicInManyConsumerGroupsError) { kit.consumer_for(:events) }
      assert_equal "events is read by the consumer groups shop, audit: name one, as in penstock.consumer_for(:events, :shop)",
        error.message
      assert_instance_of OtherConsumer, kit.consumer_for(:events, :audit)
      assert_instance_of OtherConsumer, kit.consumer_for(:events, consumer_group: "audit")
    end

    test "[Test without boot] without an application, the error names the file to load" do
      other = Testing::Kit.new
      refute Penstock.app, "this process has an application"
      error = assert_raises(Testing::ApplicationNotLoadedError) { other.open.consumer_for(:orders) }

      assert_match(/\Ano application is defined: require your boot file \(penstock\.rb, or in Rails config\/environment\) before/,
        error.message)
    ensure
      other.close
    end

    test "[Test without boot] wrong routes are reported as at boot, all at once" do
      @penstock_application = application(proc { topic("or ders") { consumer BlockConsumer } }, "acks" => "many")
      error = assert_raises(ConfigurationError) { kit.consumer_for("or ders") }

      assert_match(/or ders/, error.message)
      other = Testing::Kit.new(self)
      assert_raises(ConfigurationError) { other.open }
      refute_predicate other, :open?
    end

    test "outside of its example a kit refuses to work" do
      kit.close

      assert_equal "the example of this kit has ended, or hasn't begun",
        assert_raises(Testing::ApplicationNotLoadedError) { kit.consumer_for(:orders) }.message
      assert_raises(Testing::ApplicationNotLoadedError) { kit.produce("1", topic: "orders") }
      assert_nil kit.close
    end

    test "[consumer_for] examples wait for nothing: no connection, no thread, no close" do
      kit.close
      1.upto(2) { example_of_one_message } # loads the code, and checks the settings
      before = voluntary_switches
      100.times { example_of_one_message }

      assert_operator voluntary_switches - before, :<, 50
    end

    def example_of_one_message
      @kit = Testing::Kit.new(self).open
      consumer = consumer_of { producer.produce_async(topic: "invoices", payload: messages.first.raw_payload) }
      kit.produce("1")
      consumer.consume

      assert_equal %w[orders invoices], kit.produced_messages.map(&:topic)
    ensure
      kit.close
    end

    # @return [Integer] how often this thread has waited so far
    def voluntary_switches = File.read("/proc/thread-self/status")[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i

    # -- messages --

    test "[testing helpers] a message arrives as from Kafka: bytes, deserialized payload and key, headers, time" do
      consumer = kit.consumer_for(:orders)
      kit.produce('{"total":12}', key: "é", headers: {"a" => "1", "b" => %w[2 3]}, timestamp: 1_700_000_000_123)
      message = consumer.messages.first

      assert_equal({"total" => 12}, message.payload)
      assert_equal ['{"total":12}', Encoding::BINARY, true],
        [message.raw_payload, message.raw_payload.encoding, message.raw_payload.frozen?]
      assert_equal ["é".b, {"a" => "1", "b" => %w[2 3]}], [message.raw_key, message.headers]
      assert_equal Time.at(1_700_000_000.123r), message.timestamp
      assert_in_delta Time.now.to_f, message.received_at.to_f, 60
      assert_equal [1, 0, 0, "orders"], consumer.messages.metadata.to_h.values_at(:size, :first_offset, :last_offset, :topic)
      assert_equal "orders/0/0", message.uid
    end

    test "[testing helpers] the route's deserializers are used" do
      @penstock_application = application(proc do
        topic(:orders) do
          consumer BlockConsumer
          deserializers payload: ->(message) { message.raw_payload.upcase }
        end
      end)
      kit.consumer_for(:orders)
      kit.produce("abc")

      assert_equal %w[ABC], kit.consumer_messages.map(&:payload)
    end

    test "[testing helpers] consume sees everything that was produced so far, in offset order" do
      seen = []
      consumer = consumer_of { seen << messages.map { |message| [message.offset, message.partition, message.raw_payload] } }
      kit.produce("1")
      kit.produce("2", partition: 2)
      consumer.consume
      kit.produce("3")
      consumer.consume

      assert_equal [[[0, 0, "1"], [1, 2, "2"]], [[0, 0, "1"], [1, 2, "2"], [2, 0, "3"]]], seen
    end

    test "[testing helpers] the list of messages can be changed, for another batch" do
      consumer = consumer_of
      kit.produce("1")
      kit.consumer_messages.clear
      assert_empty consumer.messages.to_a
      kit.produce("2")

      assert_equal [["2", 1]], consumer.messages.map { |message| [message.raw_payload, message.offset] }
    end

    test "[custom offset] a message may have an offset of its own; the next ones count on from it" do
      consumer = consumer_of
      kit.produce("1", offset: 41)
      kit.produce("2")

      assert_equal [41, 42], consumer.messages.map(&:offset)
    end

    test "a tombstone, and what the application's producer sends itself, arrive too" do
      consumer = consumer_of
      kit.produce(nil, key: "42")
      producer.produce_sync(topic: "orders", payload: "by the application")
      producer.produce_sync(topic: "elsewhere", payload: "x")

      assert_equal [nil, "by the application"], consumer.messages.map(&:raw_payload)
      assert_predicate consumer.messages.first, :tombstone?
    end

    test "produce checks messages and runs middleware as the producer does" do
      producer.middleware.append(->(message) { message.merge(headers: {"trace" => "1"}) })
      consumer = consumer_of
      kit.produce("1")

      assert_equal({"trace" => "1"}, consumer.messages.first.headers)
      assert_raises(MessageInvalidError) { kit.produce(12) }
    end

    test "unknown options of a message are refused, with the nearest name" do
      consumer_of
      error = assert_raises(ArgumentError) { kit.produce("1", heders: {}) }

      assert_match(/\Aproduce doesn't take :heders, but topic, key, .* offset\. Did you mean headers\?\z/, error.message)
      kit.produce("1", {"key" => "k"}.transform_keys(&:to_sym), raw_headers: {"a" => "b"})
      assert_equal({"a" => "b"}, kit.consumer_messages.last.headers)
    end

    test "[produce_to] only the given consumer gets the message, and of produce one that isn't clear is refused" do
      shop, audit = kit.consumer_for(:events, :shop), kit.consumer_for(:events, :audit)
      kit.produce_to(shop, "1", key: "k")
      error = assert_raises(Testing::AmbiguousMessageError) { kit.produce("2") }

      assert_equal [1, 0], [shop, audit].map { |consumer| consumer.messages.size }
      assert_match(/\Aevents is read by .*BlockConsumer events\/0> and .*OtherConsumer events\/0> here: name the one/,
        error.message)
      assert_raises(ArgumentError) { kit.produce_to(OtherConsumer.new, "1") }
    end

    test "[produce_to] what the application produces goes to every group, and in a group to the partition's consumer" do
      one, two = kit.consumer_for(:events, :shop), kit.consumer_for(:events, :shop, partition: 1)
      audit = kit.consumer_for(:events, :audit)
      producer.produce_sync(topic: "events", payload: "1", partition: 1)

      assert_equal [0, 1, 1], [one, two, audit].map { |consumer| consumer.messages.size }
    end

    test "a consumer that is built again takes the place of the earlier one" do
      before = kit.consumer_for(:orders)
      after = kit.consumer_for(:orders)
      kit.produce("1")

      assert_equal [0, 1], [before, after].map { |consumer| consumer.messages.size }
    end

    test "without a consumer, produce needs a topic" do
      error = assert_raises(Testing::AmbiguousMessageError) { kit.produce("1") }
      assert_match(/no consumer was built in this example yet/, error.message)
      kit.produce("1", topic: "anything")

      assert_equal %w[anything], kit.produced_messages.map(&:topic)
    end

    # -- what consumers do --

    test "marks, pauses, seeks and commits of a consumer are recorded in order" do
      consumer = consumer_of do
        mark_as_consumed(messages[0])
        mark_as_consumed!(messages[1], "note")
        pause(7, 5_000)
        pause
        seek(3)
        seek(:latest)
        resume
        commit_offsets
        collapse_until!(9)
      end
      2.times { |number| kit.produce(number.to_s) }
      consumer.consume
      actions = kit.actions(consumer)

      assert_equal [[0, nil], [1, "note"]], actions.marks.map(&:to_a)
      assert_equal 1, actions.marked_offset
      assert_equal [[7, 5_000], [nil, consumer.topic.pause.timeout]], actions.pauses.map(&:to_a)
      assert_equal [3, :latest], actions.seeks.map(&:target)
      assert_equal [1, 2, [9]], [actions.resumes, actions.commits, actions.collapses]
    end

    test "a message of another partition may be marked, one of another topic may not" do
      consumer = consumer_of
      kit.produce("1", partition: 2)
      assert consumer.mark_as_consumed(consumer.messages.first)
      other = kit.consumer_for(:with_dead_letters)
      kit.produce_to(other, "1")

      assert_raises(ArgumentError) { consumer.mark_as_consumed(other.messages.first) }
    end

    test "a seek to a time finds the message" do
      consumer = consumer_of { seek(Time.at(200)) }
      kit.produce("1", timestamp: 100_000)
      kit.produce("2", timestamp: 300_000)
      consumer.consume
      assert_equal [1], kit.actions(consumer).seeks.map(&:target)

      BlockConsumer.block = proc { seek(Time.at(400)) }
      assert_raises(InvalidTimeBasedOffsetError) { consumer.consume }
    end

    test "a revoked partition takes no marks; a process that stops does" do
      consumer = consumer_of { mark_as_consumed(messages.last) }
      kit.produce("1")
      kit.stop(consumer)
      assert_equal [true, false, true], [consumer.stopping?, consumer.revoked?, consumer.consume]
      kit.revoke(consumer)

      assert_equal [true, false], [consumer.revoked?, consumer.consume]
      assert_equal 1, kit.actions(consumer).marks.size
    end

    test "hooks can be called, and see the messages" do
      type = Class.new(BaseConsumer) do
        def consume = nil
        %i[revoked shutdown eofed tick].each { |name| define_method(name) { [name, messages.size] } }
      end
      @penstock_application = application(proc { topic(:orders) { consumer type } })
      consumer = kit.consumer_for(:orders)
      kit.produce("1")

      %i[revoked shutdown eofed tick].each { |name| assert_equal [name, 1], consumer.public_send(name) }
    end

    test "a transaction of a consumer produces and marks together, or not at all" do
      @penstock_application = application("transactional.id": "t")
      consumer = consumer_of do
        transaction do
          producer.produce_async(topic: "invoices", payload: "1")
          mark_as_consumed(messages.last, "note")
          raise AbortTransaction if attempt == 2
        end
      end
      kit.produce("1")
      consumer.consume
      assert_equal %w[orders invoices], kit.produced_messages.map(&:topic)
      assert_equal [[0, "note"]], kit.actions(consumer).marks.map(&:to_a)

      again = kit.consumer_for(:orders, attempt: 2)
      kit.produce("2")
      again.consume
      assert_equal %w[orders invoices orders], kit.produced_messages.map(&:topic)
      assert_empty kit.actions(again).marks
    end

    test "a message is dead-lettered as in production, with its headers" do
      consumer = consumer_of(:with_dead_letters) { dispatch_to_dlq(messages.first, reason: ArgumentError.new("no total")) }
      kit.produce("{}", key: "42")
      consumer.consume
      letter = kit.produced_messages.last

      assert_equal ["orders.dead", "{}", "0"], [letter.topic, letter.payload, letter.headers["source_offset"]]
      assert_equal "no total", letter.headers["penstock_error_message"]
    end

    # -- isolation --

    test "[Isolation] each example begins empty, and messages outside of examples are dropped or sent" do
      kit.produce("1", topic: "orders")
      kit.close
      assert_predicate producer.status, :configured?, "the producer has its own client again"
      following = Testing::Kit.new(self).open

      assert_empty following.produced_messages
      assert_equal 0, following.produce("1", topic: "orders").offset
      assert_equal [1, 1], [kit, following].map { |one| one.produced_messages.size }
    ensure
      following.close
    end

    test "[Isolation] the application's producer stays the same object, with its variants and listeners" do
      same = producer
      variant = producer.with(max_wait_timeout: 1)
      sent = []
      producer.monitor.subscribe("message.produced_sync") { |event| sent << event[:message][:topic] }
      variant.produce_sync(topic: "orders", payload: "1")

      assert_same same, penstock_application.producer
      assert_equal ["orders"], kit.produced_messages.map(&:topic)
      assert_equal ["orders"], sent
    end

    test "other producers are kept in memory when the example names them" do
      own = Producer.new { |config| config.kafka = KAFKA }
      define_singleton_method(:penstock_producers) { [own] }
      following = Testing::Kit.new(self).open
      own.produce_sync(topic: "audit", payload: "1")
      following.capture(own.with(max_wait_timeout: 1))

      assert_equal %w[audit], following.produced_messages.map(&:topic)
      error = assert_raises(ArgumentError) { following.capture(Object.new) }
      assert_match(/\Aa Penstock::Producer can be captured, not #<Object/, error.message)
    ensure
      following.close
      assert_predicate own.status, :configured?
    end
  end
end
