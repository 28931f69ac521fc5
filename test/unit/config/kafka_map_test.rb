# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/config/kafka_map"

class KafkaMapTest < Penstock::TestCase
  include RoutesSupport

  KafkaMap = Penstock::Config::KafkaMap

  test "a consumer's offsets are never stored or committed by librdkafka" do
    map = consumer(settings(kafka: {**KAFKA, "enable.auto.offset.store": true, "enable.auto.commit": true}))

    assert_equal %w[false false], map.values_at("enable.auto.commit", "enable.auto.offset.store")
  end

  test "a consumer has Penstock's defaults unless the user sets a value" do
    map = consumer(settings)

    assert_equal({"enable.partition.eof" => "true", "partition.assignment.strategy" => "cooperative-sticky",
      "fetch.queue.backoff.ms" => "20", "fetch.wait.max.ms" => "500", "queued.min.messages" => "10000",
      "statistics.interval.ms" => "5000", "socket.nagle.disable" => "true", "max.poll.interval.ms" => "300000",
      "auto.commit.interval.ms" => "5000", "group.id" => "app", "client.id" => "penstock",
      "auto.offset.reset" => "earliest", "bootstrap.servers" => "127.0.0.1:9092"},
      map.slice("enable.partition.eof", "partition.assignment.strategy", "fetch.queue.backoff.ms", "fetch.wait.max.ms",
        "queued.min.messages", "statistics.interval.ms", "socket.nagle.disable", "max.poll.interval.ms",
        "auto.commit.interval.ms", "group.id", "client.id", "auto.offset.reset", "bootstrap.servers"))
  end

  test "[Kafka defaults] 5 defaults present, user value wins" do
    assert_equal({"client.id" => "penstock", "statistics.interval.ms" => "5000", "message.timeout.ms" => "150000",
      "transaction.timeout.ms" => "165000", "socket.nagle.disable" => "true"},
      KafkaMap.producer(settings).slice("client.id", "statistics.interval.ms", "message.timeout.ms",
        "transaction.timeout.ms", "socket.nagle.disable"))
    assert_equal "9", KafkaMap.producer(settings(kafka: {**KAFKA, "statistics.interval.ms": 9}))["statistics.interval.ms"]
  end

  test "a value under another name of the same property wins over Penstock's default" do
    map = consumer(settings(kafka: {**KAFKA, "max.partition.fetch.bytes": 1_000}))
    producer = KafkaMap.producer(settings(kafka: {**KAFKA, "delivery.timeout.ms": 1_000}))

    refute_includes map, "fetch.message.max.bytes"
    refute_includes producer, "message.timeout.ms"
  end

  test "one Hash serves all: each client gets its own properties" do
    both = settings(kafka: {**KAFKA, acks: "all", "fetch.min.bytes": 2, "sasl.username": "u"})

    assert_equal [nil, "2", "u"], consumer(both).values_at("acks", "fetch.min.bytes", "sasl.username")
    assert_equal ["all", nil, "u"], KafkaMap.producer(both).values_at("acks", "fetch.min.bytes", "sasl.username")
    assert_equal [nil, nil, "u"], KafkaMap.admin(both).values_at("acks", "fetch.min.bytes", "sasl.username")
  end

  test "[dev kafka defaults] absent when the environment is production" do
    assert_equal %w[true 5000],
      consumer(settings).values_at("allow.auto.create.topics", "topic.metadata.refresh.interval.ms")
    assert_equal "5000", KafkaMap.producer(settings)["topic.metadata.refresh.interval.ms"]

    production = settings(environment: "production")
    refute_includes consumer(production), "allow.auto.create.topics"
    assert_equal %w[10000 10000],
      [consumer(production), KafkaMap.producer(production)].map { |map| map["topic.metadata.refresh.interval.ms"] }
  end

  test "a broker that stops answering is noticed by every client, and metadata is read less often if a pattern reads all topics" do
    production = settings(environment: "production")
    pattern = routes(production) { pattern(/orders/) { consumer Consumer } }.subscription_groups.first
    noticed = %w[socket.timeout.ms reconnect.backoff.max.ms]

    [consumer(production), KafkaMap.producer(production), KafkaMap.admin(production)].each do |map|
      assert_equal %w[30000 1000], map.values_at(*noticed)
    end
    assert_equal "10000", consumer(production)["coordinator.query.interval.ms"]
    assert_equal "300000", KafkaMap.consumer(production, pattern)["topic.metadata.refresh.interval.ms"]
    short = settings(kafka: {**KAFKA, "transaction.timeout.ms": "15000"})
    assert_equal "15000", KafkaMap.producer(short)["socket.timeout.ms"]
    own = settings(environment: "production", kafka: {**KAFKA, "topic.metadata.refresh.interval.ms": 60_000})
    assert_equal "60000", consumer(own)["topic.metadata.refresh.interval.ms"]
  end

  test "[multi-cluster] a second cluster gets the injected defaults too" do
    second = routes {
      topic(:a) {
        consumer Consumer
        kafka("bootstrap.servers": "other:9092")
      }
    }.subscription_groups.first
    map = KafkaMap.consumer(settings, second)

    assert_equal %w[other:9092 5000 cooperative-sticky true],
      map.values_at("bootstrap.servers", "statistics.interval.ms", "partition.assignment.strategy",
        "allow.auto.create.topics")
  end

  test "the start position of a group comes from the topic, unless kafka sets it" do
    latest = routes {
      topic(:a) {
        consumer Consumer
        initial_offset :latest
      }
    }.subscription_groups.first
    own = settings(kafka: {**KAFKA, "auto.offset.reset": "error"})

    assert_equal "latest", KafkaMap.consumer(settings, latest)["auto.offset.reset"]
    assert_equal "error", consumer(own)["auto.offset.reset"]
    assert_equal "error", group(own).topics.first.initial_offset
  end

  test "under KIP-848 nothing is set that the broker controls" do
    map = consumer(settings(kafka: {**KAFKA, "group.protocol": "consumer", "max.poll.interval.ms": 10_000}))

    assert_empty map.keys & %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms]
    assert_empty Penstock::Native::Conf.validate(map, :consumer)
  end

  test "a short poll interval also lowers the session timeout" do
    map = consumer(settings(kafka: {**KAFKA, "max.poll.interval.ms": 10_000}))

    assert_equal "10000", map["session.timeout.ms"]
    refute_includes consumer(settings), "session.timeout.ms"
  end

  test "[static membership ids] unique per subscription group, stable over restart" do
    drawn = proc do
      topic(:a) { consumer Consumer }
      topic(:b) {
        consumer Consumer
        kafka({"fetch.min.bytes": 2}, inherit: true)
      }
    end
    fixed = settings(kafka: {**KAFKA, "group.instance.id": "shop"})
    named = settings { |config| config.static_membership = "node-7" }
    ids = [fixed, named, fixed].map do |with|
      routes(with, &drawn).subscription_groups.map { |entry| KafkaMap.consumer(with, entry)["group.instance.id"] }
    end

    assert_equal [%w[shop_0 shop_1], %w[node-7_0 node-7_1], %w[shop_0 shop_1]], ids
    refute_includes consumer(settings), "group.instance.id"
  end

  test "[static membership ids] unique per node, and a node's clients and transactions carry its number" do
    own = settings(kafka: {**KAFKA, "transactional.id": "payments"}) do |config|
      config.client_id = "shop"
      config.static_membership = "shop"
    end
    made = [0, 1].map { |index| own.for_node(index) }

    assert_equal %w[shop_0_0 shop_1_0], made.map { |with| consumer(with)["group.instance.id"] }
    assert_equal %w[shop-0 shop-1], made.map { |with| consumer(with)["client.id"] }
    assert_equal %w[payments-0 payments-1], made.map { |with| KafkaMap.producer(with)["transactional.id"] }
    assert_equal "payments", KafkaMap.producer(own)["transactional.id"]
  end

  test "a node of a swarm learns of rebalances soon, unless the user or KIP-848 sets the interval" do
    interval = ->(**kafka) { consumer(settings(kafka: {**KAFKA, **kafka}))["heartbeat.interval.ms"] }
    assert_equal "1000", interval.call
    assert_equal "200", interval.call("heartbeat.interval.ms": 200)
    assert_equal "500", interval.call("session.timeout.ms": 1_500)
    assert_equal "400", interval.call("max.poll.interval.ms": 1_200)
    assert_nil interval.call("group.protocol": "consumer")
  end

  test "librdkafka accepts the map of every kind of client" do
    with = settings

    assert_empty Penstock::Native::Conf.validate(consumer(with), :consumer)
    assert_empty Penstock::Native::Conf.validate(KafkaMap.producer(with), :producer)
    assert_empty Penstock::Native::Conf.validate(KafkaMap.admin(with), :admin)
  end

  test "properties of patched libraries are set only there" do
    group = group(settings)

    assert_equal "false", KafkaMap.consumer(settings, group, patched: true)["rebalance.pause.partitions"]
    refute_includes KafkaMap.consumer(settings, group, patched: false), "rebalance.pause.partitions"
  end

  test "a connection that only reads has nothing of a group's member, and ends at once where a range ends" do
    user = {"bootstrap.servers": "a:1", "group.id": "report", "group.instance.id": "x", "session.timeout.ms": 9_000,
            "isolation.level": "read_uncommitted", "auto.offset.reset": "latest", "enable.auto.commit": true, acks: "all"}
    found = Penstock::Config::KafkaMap.reading(user)

    assert_equal %w[report read_uncommitted earliest false false true 100 0], found.values_at("group.id", "isolation.level",
      "auto.offset.reset", "enable.auto.commit", "allow.auto.create.topics", "enable.partition.eof", "fetch.wait.max.ms",
      "statistics.interval.ms")
    assert_empty found.keys & %w[group.instance.id session.timeout.ms partition.assignment.strategy acks]
    assert_equal "500", Penstock::Config::KafkaMap.reading(user, follow: true)["fetch.wait.max.ms"]
    assert_equal "penstock-reader", Penstock::Config::KafkaMap.reading({})["group.id"]
    assert_equal %w[8192 1024], [8, 64].map { |lanes|
      Penstock::Config::KafkaMap.reading({}, lanes: lanes)["queued.max.messages.kbytes"]
    }
  end

  test "a map contains only Strings, is frozen, and shows no secret" do
    map = consumer(settings(kafka: {**KAFKA, "sasl.password": "hunter2"}))

    assert_predicate map, :frozen?
    assert(map.all? { |name, value| name.is_a?(String) && value.is_a?(String) })
    refute_match(/hunter2/, map.inspect)
  end

  private

  def group(with)
    routes(with) { topic(:orders) { consumer Consumer } }.subscription_groups.first
  end

  def consumer(with) = KafkaMap.consumer(with, group(with))
end
