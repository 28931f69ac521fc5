# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/testing/buffered_client"

module Penstock
  class ProducerVariantTest < TestCase
    def producer(kafka = {})
      @producer ||= Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1", **kafka}
        config.client_class = Testing::BufferedClient
        config.id = "mine"
      end
    end

    def record(payload = "x")
      {topic: "orders", payload: payload}
    end

    def problems(**changes)
      assert_raises(VariantInvalidError) { producer.with(**changes) }.problems.map(&:to_s)
    end

    test "[Variant keys] a property that isn't a topic property is refused, with the nearest one that is" do
      assert_match(/topic_config.linger.ms: can't differ in a variant/, problems(topic_config: {"linger.ms": 5}).first)
      assert_match(/compression.level/, problems(topic_config: {"compresion.level": 5}).first)
      assert_match(/must be a Symbol/, problems(topic_config: {"acks" => 1}).first)
      assert_match(/must be a Hash/, problems(topic_config: 1).first)
    end

    test "[Variant keys] all problems are reported at once, also values that librdkafka refuses" do
      producer("enable.idempotence": false)
      assert_equal 2, problems(max_wait_timeout: -1, topic_config: {acks: "many"}).size
      Producer::Variant::TOPIC_PROPERTIES.each { |name| assert_kind_of Producer::Variant, producer.with(topic_config: {name => value(name)}) }
    end

    test "[Variant acks idempotent] an idempotent producer, the default, takes no other acks than all" do
      found = problems(topic_config: {acks: 1, "request.required.acks": 1})
      assert_equal 2, found.size
      assert_match(/acks: is 1, and an idempotent producer.*needs `all`.*"enable.idempotence": false/m, found.first)
      assert_kind_of Producer::Variant, producer.with(topic_config: {acks: "all", "request.required.acks": -1})
      assert_kind_of Producer::Variant, producer.with(topic_config: {"compression.codec": "gzip"})
    end

    test "[Nested variant] after a call the earlier settings apply again, even if the call raised" do
      outer = producer("transactional.id": "t").with(max_wait_timeout: 11)
      inner = producer.with(max_wait_timeout: 22)
      seen = [producer.current_variant.max_wait_timeout]
      outer.transaction do
        seen << producer.current_variant.max_wait_timeout
        assert_raises(MessageInvalidError) { inner.produce_async(topic: "") }
        inner.transaction { seen << producer.current_variant.max_wait_timeout }
        seen << producer.current_variant.max_wait_timeout
      end

      assert_equal [180_000, 11, 22, 11, 180_000], [*seen, producer.current_variant.max_wait_timeout]
    end

    test "a variant's settings apply only to the fiber that is in the call" do
      variant = producer("transactional.id": "t").with(max_wait_timeout: 11)
      others = variant.transaction do
        [Thread.new { producer.current_variant.max_wait_timeout }.value, Fiber.new {
          producer.current_variant.max_wait_timeout
        }.resume]
      end

      assert_equal [180_000, 180_000], others
    end

    test "[current_variant in callback] a listener of deliveries has the producer's own settings" do
      seen = []
      producer.monitor.subscribe("message.produced_sync") { seen << producer.current_variant.max_wait_timeout }
      producer.with(max_wait_timeout: 11).produce_sync(record)

      assert_equal [11], seen, "the caller's own listeners run in its fiber"
      assert_equal 180_000, Thread.new { producer.current_variant.max_wait_timeout }.value
    end

    test "a variant has the producer's methods, its buffer and its client" do
      variant = producer("enable.idempotence": false).with(topic_config: {acks: 1})
      variant.produce_async(record("a"))
      variant.produce_many_sync([record("b")])
      variant.buffer(record("c"))
      producer.flush_sync
      variant.with(topic_config: {acks: 0}).tombstone_sync(topic: "orders", key: "k", partition: 0)

      assert_equal ["a", "b", "c", nil], producer.client.messages_for("orders").map { |message| message[:payload] }
      assert_equal ["mine", true], [variant.id, variant.status.connected?]
      methods = Producer.public_instance_methods - Object.public_instance_methods
      internal = %i[setup as send_offsets settle_transaction prepare_transactions reconfigure]
      assert_empty methods - Producer::Variant.public_instance_methods - internal
      variant.close
      assert_predicate producer, :closed?
    end

    test "a variant's synchronous call waits for as long as the variant sets" do
      client = producer.client
      waits = []
      client.define_singleton_method(:sync_wait) { |_handle, timeout_ms| waits << timeout_ms }
      producer.with(max_wait_timeout: 1_234).produce_sync(record)

      assert_operator waits.first, :<=, 1_234
    end

    private

    def value(name)
      case name
      when /codec|type/ then "gzip"
      when :partitioner then "murmur2"
      else 1
      end
    end

    # Its comparison lets other threads run, as comparing two Hashes may.
    class TopicConfig < Hash
      def initialize(name, meanwhile = nil)
        super()
        self[:name] = name
        @meanwhile = meanwhile
      end

      def hash = 0

      def eql?(other)
        meanwhile, @meanwhile = @meanwhile, nil
        meanwhile&.call
        super
      end
    end

    test "a variant's dispatcher is found while other threads add theirs" do
      opened = Producer::OpenClient.new(producer.config, nil)
      others = (2..20).map { |name| TopicConfig.new(name) }
      mine = opened.dispatcher_for(TopicConfig.new(1))
      meanwhile = -> { Thread.new { others.each { |one| opened.dispatcher_for(one) } }.join }
      assert_same mine, opened.dispatcher_for(TopicConfig.new(1, meanwhile))
      assert_equal 20, [mine, *others.map { |one| opened.dispatcher_for(one) }].uniq.size
    end
  end
end
