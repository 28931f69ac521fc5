# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/pool"
require "support/native_member"
require "support/real_broker"

module Penstock
  # Concurrent transactions on the real broker.
  class ProducerPoolOnRealBrokerTest < TestCase
    include TestSupport::RealBroker

    Broker = Struct.new(:bootstrap_servers)
    THREADS = 3
    ROUNDS = 6

    def teardown
      @pool&.shutdown(timeout_ms: 10_000)
      super
    end

    def pool
      @id ||= unique("pool")
      @pool ||= ProducerPool.new(size: 2, timeout: 60_000) do |config, index|
        config.kafka = {"bootstrap.servers": bootstrap_servers, "transactional.id": "#{@id}-#{index}"}
      end
    end

    test "[Pool indices] transactions of several threads run concurrently, even while the pool is reloaded: each is visible once" do
      topic = unique("pooled")
      pool
      threads = Array.new(THREADS) { |thread| Thread.new { run_rounds(topic, thread) } }
      pool.reload(timeout_ms: 60_000)
      threads.each(&:join)
      pool.shutdown

      kept = (0...THREADS).flat_map { |thread| (0...ROUNDS).reject { |round| round == 2 }.map { |round| "#{thread}/#{round}" } }
      assert_equal kept.sort, committed(topic, kept.size)
    end

    private

    def run_rounds(topic, thread)
      ROUNDS.times { |round| transact(topic, "#{thread}/#{round}", round) }
    end

    # Every third transaction of each thread is aborted.
    def transact(topic, payload, round)
      pool.transaction do |producer, transaction|
        producer.produce_sync(topic: topic, payload: payload, partition: 0)
        transaction.abort if round == 2
      end
    end

    def committed(topic, count)
      reader = TestSupport::NativeMember.new(Broker.new(bootstrap_servers), topic, group_id: unique("reader"),
        isolation_level: "read_committed", session_timeout_ms: 6_000)
      reader.turn_until(40, "#{count} records") { payloads(reader).size >= count }
      payloads(reader).sort
    ensure
      reader&.close
    end

    def payloads(reader)
      reader.batches.values.flatten.flat_map { |batch| Array.new(batch.size) { |index| batch.payload(index) } }
    end
  end
end
