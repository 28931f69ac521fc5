# frozen_string_literal: true

require "test_helper"
require "support/cluster_case"
require "penstock/admin"
require "penstock/producer"
require "penstock/reading/connection"

module Penstock
  # A transaction is aborted while the outcome of its messages is unknown: the broker has written them, and its answer was lost.
  # Messages of the next transaction must not be taken for repetitions of them.
  class AbortedUnknownOutcomeTest < TestCase
    include TestSupport::ClusterCase

    MESSAGES = 20

    def setup
      super
      name = "aborted-#{rand(1 << 40)}"
      @topic = cluster.create_topic(name, partitions: 1)
      @broker = cluster.leader(@topic, 0)
      @client = name
      start_producer
    end

    def start_producer(**settings)
      @producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": @client, "transactional.id": @client,
                        "linger.ms": 20, "socket.timeout.ms": 5_000, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 100,
                        **settings}
        config.logger = Logger.new(nil)
      end
    end

    def teardown
      @producer&.close
      cluster.proxy.clear
      super
    end

    def produce(transaction)
      Array.new(MESSAGES) { |number| @producer.produce_async(topic: @topic, partition: 0, payload: "#{transaction} #{number}") }
    end

    # The broker writes the messages; its answer, and each request to send them again, is lost. Then the transaction aborts.
    def aborted_transaction
      answer = cluster.proxy.cut(0, api: :produce, side: :response, broker: @broker, client: @client, times: 1)
      repeats = cluster.proxy.cut(0, api: :produce, side: :request, broker: @broker, client: @client, skip: 1)
      @producer.transaction do
        produce("aborted")
        wait_until(20, "the answer is lost") { cluster.proxy.hits(answer) == 1 && cluster.proxy.hits(repeats) >= 1 }
        raise AbortTransaction
      end
      cluster.proxy.remove(repeats)
    end

    # The broker writes the messages and answers that it doesn't lead the partition any more. The transaction aborts before the
    # producer sends them again; an abort waits for a transaction's first report.
    #
    # @return [Array<Producer::Delivery::Report>]
    def refused_transaction
      deliveries = []
      @producer.transaction do
        # Not synchronously: until the flush for it has ended, the next message may be sent at once, in a request of its own.
        @producer.produce_async(topic: @topic, partition: 0, payload: "acknowledged").wait
        answer = cluster.proxy.fail(6, topic: @topic, broker: @broker, client: @client, times: 1)
        deliveries = produce("refused")
        wait_until(20, "the messages are refused") { cluster.proxy.hits(answer) == 1 }
        raise AbortTransaction
      end
      deliveries.map { |delivery| delivery.wait(raise_response_error: false) }
    end

    def payloads
      Admin.open({"bootstrap.servers": cluster.direct_servers}) do |admin|
        admin.read_topic(@topic, 0, 1_000, 0).map(&:raw_payload)
      end
    end

    test "the next transaction's messages are written, as many as those of unknown outcome or not" do
      @producer.transaction { produce("first") }
      aborted_transaction
      @producer.transaction { produce("second") }
      aborted_transaction
      @producer.transaction { 3.times { produce("third") } }

      numbers = (0...MESSAGES).to_a
      wanted = %w[first second].flat_map { |name| numbers.map { |number| "#{name} #{number}" } } +
        numbers.cycle(3).map { |number| "third #{number}" }
      assert_written wanted
    end

    test "the messages of a transaction that was written and refused are reported as unknown, and those of the next one are written" do
      @producer.close
      start_producer("retry.backoff.ms": 4_000, "retry.backoff.max.ms": 4_000, "linger.ms": 500) # all messages in one request
      @producer.transaction { produce("first") }
      reports = refused_transaction
      @producer.transaction { produce("second") }

      assert reports.all?(&:unknown?), reports.map(&:inspect).uniq.join("\n")
      assert_written(%w[first second].flat_map { |name| Array.new(MESSAGES) { |number| "#{name} #{number}" } })
    end

    # A commit is answered before its markers are written, and until then the messages can't be read.
    def assert_written(wanted)
      wait_until(10, "all messages", state: -> { payloads.size }) { payloads.size >= wanted.size }
      assert_equal wanted, payloads
    end
  end
end
