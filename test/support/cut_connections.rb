# frozen_string_literal: true

require "penstock/producer"
require_relative "cutting_proxy"
require_relative "free_port"
require_relative "kafka_server"
require_relative "native_member"

module Penstock
  module TestSupport
    # Threads produce through one idempotent producer while all its connections are cut again and again: nothing is
    # lost, nothing is stored twice, each key stays in order, and each delivery is resolved once.
    module CutConnections
      TOPIC = "cut"
      KEYS = 12
      THREADS = 3
      Broker = Struct.new(:bootstrap_servers)

      def setup
        super
        obstacle = KafkaServer.obstacle
        skip obstacle if obstacle
        port, @front = FreePort.take(2)
        @server = KafkaServer.new(port: port, jvm: KafkaServer::TEST_JVM, extra: {
          "advertised.listeners" => "PLAINTEXT://127.0.0.1:#{@front}", "num.partitions" => 3
        })
        @proxy = CuttingProxy.new(@front, port)
        @server.start
      end

      def teardown
        @sender&.close(timeout_ms: 0)
        @proxy&.close
        @server&.stop
        super
      end

      private

      def produced_while_cut(seconds)
        sender
        sender.produce_sync(topic: TOPIC, payload: "0", key: "warm")
        sent = @proxy.cutting(every: 0.5..1.5) { produce_for(seconds) }
        handles = sent.flatten
        Producer::Delivery.wait_all(handles, timeout_ms: 180_000, raise_response_error: false)
        assert sender.flush(60_000)
        check(handles)
      end

      def sender
        @sender ||= Producer.new do |config|
          config.kafka = {"bootstrap.servers": "127.0.0.1:#{@front}", "enable.idempotence": true, "linger.ms": 2,
                          "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}
          config.logger = Logger.new(File::NULL)
        end.tap { |made| listen(made) }
      end

      def listen(made)
        @acknowledged = Hash.new(0)
        made.monitor.subscribe("message.acknowledged") { |event| @acknowledged[event[:label]] += 1 }
      end

      # Each thread has its own keys, so that it knows their order.
      def produce_for(seconds)
        stop = false
        threads = Array.new(THREADS) { |thread| Thread.new { produce_until(thread) { stop } } }
        Wait.observe_for(seconds)
        stop = true
        threads.map(&:value)
      end

      def produce_until(thread)
        handles = []
        number = 0
        until yield
          messages = (thread...KEYS).step(THREADS).map { |key| numbered(key, number += 1) }
          handles.concat(number.even? ? messages.map { |one| sender.produce_async(one) } : sender.produce_many_async(messages))
          Wait.observe_for(0.005)
        end
        handles
      end

      def numbered(key, number)
        {topic: TOPIC, key: "key-#{key}", payload: number.to_s, label: "#{key}/#{number}"}
      end

      def check(handles)
        assert_operator @proxy.cuts, :>, 1
        assert_equal [0], handles.map(&:number).uniq
        wait_until(60, "every event") { @acknowledged.size > handles.size }
        assert_equal [1], handles.map { |handle| @acknowledged[handle.label] }.uniq
        stored = read(handles.size + 1)
        assert_equal handles.size + 1, stored.values.sum(&:size)
        (0...KEYS).each { |key| assert_in_order(key, stored, handles) }
      end

      def assert_in_order(key, stored, handles)
        sent = handles.map(&:label).filter_map { |label| label[/\A#{key}\/(\d+)/, 1] }

        assert_equal sent.sort_by(&:to_i), stored["key-#{key}"], "key-#{key}"
      end

      # @return [Hash{String => Array<String>}] what each key has, in order
      def read(count)
        member = NativeMember.new(Broker.new("127.0.0.1:#{@front}"), TOPIC, group_id: "reader", session_timeout_ms: 6_000)
        member.turn_until(90, "#{count} records") { member.offsets.values.sum(&:size) >= count }
        member.batches.values.flatten.each_with_object(Hash.new { |hash, key| hash[key] = [] }) do |batch, rows|
          batch.size.times { |index| rows[batch.key(index)] << batch.payload(index) }
        end
      ensure
        member&.close
      end
    end
  end
end
