# frozen_string_literal: true

require "test_helper"
require "support/cluster_case"
require "penstock/admin"
require "penstock/producer"

module Penstock
  # A record whose acknowledgement is lost, while another one makes the producer raise its epoch.
  class UnknownOutcomeTest < TestCase
    include TestSupport::ClusterCase

    def setup
      super
      name = "outcome-#{rand(1 << 40)}"
      @lost = cluster.create_topic("#{name}-lost", partitions: 1)
      @broker = cluster.leader(@lost, 0)
      @small = cluster.create_topic("#{name}-small", partitions: 3, config: {"max.message.bytes" => "1000"})
      @elsewhere = cluster.leaders(@small).find { |_, leader| leader != @broker }.first
      @client = name
      start_producer
    end

    def start_producer(**settings)
      @producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": @client, "socket.timeout.ms": 5_000,
                        "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 100, "linger.ms": 0, **settings}
        config.logger = Logger.new(nil)
      end
      @producer.produce_sync(topic: @lost, partition: 0, payload: "before")
      @producer.produce_sync(topic: @small, partition: @elsewhere, payload: "before")
    end

    def teardown
      @producer&.close
      cluster.proxy.clear
      super
    end

    # The broker writes the record; its answer, and each request to send the record again, is lost.
    #
    # @return [(Producer::Delivery, String)] and the rule that keeps the record from being sent again
    def lose_acknowledgement(payload)
      answer = cluster.proxy.cut(0, api: :produce, side: :response, broker: @broker, client: @client, times: 1)
      repeats = cluster.proxy.cut(0, api: :produce, side: :request, broker: @broker, client: @client, skip: 1)
      delivery = @producer.produce_async(topic: @lost, partition: 0, payload: payload)
      wait_until(20, "the answer is lost, and the record sent again") do
        cluster.proxy.hits(answer) == 1 && cluster.proxy.hits(repeats) >= 1
      end
      [delivery, repeats]
    end

    # A record that the broker refuses leaves a gap in the sequence of its partition: the producer raises its epoch.
    def leave_gap
      error = assert_raises(ProduceError) do
        @producer.produce_sync(topic: @small, partition: @elsewhere, payload: "x" * 5_000)
      end
      assert_equal :msg_size_too_large, error.code
    end

    def records(topic, partition)
      Admin.open({"bootstrap.servers": cluster.direct_servers}) { |admin| admin.read_watermark_offsets(topic, partition) }.last
    end

    test "a record of unknown outcome is written once, though another partition raises the epoch before it is sent again" do
      delivery, repeats = lose_acknowledgement("once")
      leave_gap
      cluster.proxy.remove(repeats)

      assert_equal 1, delivery.wait.offset
      assert_equal 2, @producer.produce_sync(topic: @lost, partition: 0, payload: "after").offset
      assert_equal 3, records(@lost, 0)
    end

    # Kafka answers so where the leader has written the records and loses its leadership before they are replicated.
    {not_leader_or_follower: 6, kafka_storage_error: 56}.each do |name, code|
      test "a record that was written and answered with #{name} is written once, though another partition raises the epoch" do
        @producer.close
        start_producer("retry.backoff.ms": 4_000, "retry.backoff.max.ms": 4_000)
        requests = cluster.proxy.delay(0, api: :produce, broker: @broker, client: @client)
        answer = cluster.proxy.fail(code, topic: @lost, broker: @broker, client: @client, times: 1)
        delivery = @producer.produce_async(topic: @lost, partition: 0, payload: "once")
        wait_until(20, "the record is answered with an error") { cluster.proxy.hits(answer) == 1 }
        leave_gap

        assert_equal 2, delivery.wait(timeout_ms: 30_000).offset
        assert_equal 2, cluster.proxy.hits(requests), "the record is sent again"
        assert_equal 3, @producer.produce_sync(topic: @lost, partition: 0, payload: "after").offset
        assert_equal 4, records(@lost, 0)
      end
    end

    # The client abandons requests to a broker that the cluster's metadata no longer names. It requests metadata of the broker to
    # which it has sent something last, and only for the topic that it doesn't know.
    test "a record whose broker leaves the cluster before it answers is written once, though another partition raises the epoch" do
      unknown = cluster.create_topic("#{@client}-unknown", partitions: 1)
      @producer.close
      start_producer("retry.backoff.ms": 4_000, "retry.backoff.max.ms": 4_000, "socket.timeout.ms": 120_000)
      answer = cluster.proxy.drop(api: :produce, side: :response, broker: @broker, client: @client, times: 1)
      delivery = @producer.produce_async(topic: @lost, partition: 0, payload: "once")
      wait_until(20, "the answer is lost") { cluster.proxy.hits(answer) == 1 }
      cluster.proxy.link(@broker, mode: :frozen)
      cluster.stop_node(@broker)
      leave_gap
      @producer.partition_count(unknown)

      assert_equal 2, delivery.wait(timeout_ms: 60_000).offset
      assert_equal 3, @producer.produce_sync(topic: @lost, partition: 0, payload: "after").offset
      assert_equal 4, records(@lost, 0)
    end

    YOUNGER_MS = 2_000

    # A record that has timed out isn't sent again, and the broker recognizes a request only by the same records as before. While
    # the broker can't be reached both records wait, so that they are in one request.
    test "a record whose acknowledgement is lost isn't written twice, though an older one of its request times out before it" do
      @producer.close
      start_producer("message.timeout.ms": 8_000)
      answer = cluster.proxy.cut(0, api: :produce, side: :response, broker: @broker, client: @client, times: 1)
      repeats = cluster.proxy.cut(0, api: :produce, side: :request, broker: @broker, client: @client, skip: 1)
      cluster.proxy.link(@broker, mode: :down)
      cluster.proxy.reset(client: @client)
      older = @producer.produce_async(topic: @lost, partition: 0, payload: "older")
      begun = Clock.milliseconds
      wait_until(5, "the next record is younger") { Clock.milliseconds - begun > YOUNGER_MS }
      younger = @producer.produce_async(topic: @lost, partition: 0, payload: "younger")
      cluster.proxy.link(@broker, mode: :open)
      wait_until(20, "the answer is lost, and the records sent again") do
        cluster.proxy.hits(answer) == 1 && cluster.proxy.hits(repeats) >= 1
      end
      older.wait(raise_response_error: false)
      cluster.proxy.remove(repeats)

      reports = [older, younger].map { |delivery| delivery.wait(raise_response_error: false) }
      assert reports.all?(&:unknown?), reports.map(&:inspect).join("\n")
      assert_equal 4, @producer.produce_sync(topic: @lost, partition: 0, payload: "after").offset
      assert_equal %w[before before older younger after], written(@lost).first
    end

    test "records after a request that never arrived are written once, in order, and more follow in the new epoch" do
      lost = cluster.proxy.drop(api: :produce, side: :request, broker: @broker, client: @client, times: 1)
      first = @producer.produce_async(topic: @lost, partition: 0, payload: "first")
      wait_until(20, "the request is lost") { cluster.proxy.hits(lost) == 1 }
      second = @producer.produce_async(topic: @lost, partition: 0, payload: "second")

      assert_equal [1, 2], [first.wait.offset, second.wait.offset]
      leave_gap
      assert_equal 3, @producer.produce_sync(topic: @lost, partition: 0, payload: "third").offset
      assert_equal 4, records(@lost, 0)
    end

    ROUNDS = 30
    PARTITIONS = 3

    test "records are written once, in order, while connections break and refused records raise the epoch" do
      topic = cluster.create_topic("#{@client}-many", partitions: PARTITIONS)
      deliveries = Array.new(ROUNDS) do |round|
        sent = Array.new(PARTITIONS * 5) do |number|
          @producer.produce_async(topic: topic, partition: number % PARTITIONS, payload: "#{round}-#{number}")
        end
        cluster.proxy.reset(client: @client) if (round % 4).zero?
        leave_gap if (round % 3).zero?
        sent
      end
      deliveries.flatten.each { |delivery| delivery.wait(timeout_ms: 60_000) }

      expected = Array.new(PARTITIONS) do |partition|
        Array.new(ROUNDS) { |round| Array.new(5) { |place| "#{round}-#{partition + (place * PARTITIONS)}" } }.flatten
      end
      assert_equal expected, written(topic)
    end

    # @return [Array<Array<String>>] payloads by partition, as Kafka's own consumer reads them
    def written(topic)
      path = File.join(cluster.folder, "written")
      cluster.agent.call(:read, topic: topic, isolation: "read_uncommitted", path: path)
      rows = File.readlines(path, chomp: true).map { |line| line.split("\t", -1) }
      rows.group_by { |row| Integer(row[0]) }.sort.map do |_, list|
        list.sort_by { |row| Integer(row[1]) }.map { |row| row[4].delete_prefix("=").unpack1("m") }
      end
    end
  end
end
