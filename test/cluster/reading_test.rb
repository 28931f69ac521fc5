# frozen_string_literal: true

require "test_helper"
require "support/cluster_case"
require "penstock"

module Penstock
  # Reading while brokers restart, and while no coordinator answers.
  class ReadingTest < TestCase
    include TestSupport::ClusterCase

    def setup
      super
      @topic = cluster.create_topic("reading-#{rand(1 << 40)}", partitions: 6)
    end

    def kafka = {"bootstrap.servers": cluster.bootstrap_servers}

    def produce(range)
      producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": cluster.direct_servers}
        config.logger = Logger.new(nil)
      end
      producer.produce_many_sync(range.map { |number| {topic: @topic, payload: number.to_s, partition: number % 6} })
    ensure
      producer&.close
    end

    test "[iterator EOF/tail] what follows misses and repeats nothing while each broker restarts" do
      produce(0...60)
      seen = Hash.new(0)
      restarting = Thread.new do
        [1, 2, 3].each do |id|
          cluster.restart(id)
          produce((60 * id)...(60 * (id + 1)))
        end
      end
      Iterator.new(@topic, settings: kafka, follow: true, yield_nil: true).each do |message, iterator|
        seen[Integer(message.raw_payload)] += 1 if message
        iterator.stop if !restarting.alive? && seen.size >= 240
      end
      restarting.join

      assert_equal (0...240).to_h { |number| [number, 1] }, seen.sort.to_h
    end

    test "a range is read completely while the leader of its partitions is stopped" do
      produce(0...600)
      cluster.proxy.delay(30, api: :fetch, side: :response)
      stopped = nil
      seen = Iterator.new(@topic, settings: {**kafka, "fetch.message.max.bytes": 200}).map do |message|
        stopped ||= Thread.new { cluster.stop_node(2) }
        Integer(message.raw_payload)
      end

      assert_equal (0...600).to_a, seen.sort
    ensure
      stopped&.join
    end

    test "[recovery] commits are read while no coordinator answers" do
      group = "#{@topic}-group"
      produce(0...6)
      Iterator.new(@topic, settings: {**kafka, "group.id": group}).each { |message, iterator| iterator.mark_as_consumed(message) }
      %i[find_coordinator offset_fetch].each { |api| cluster.proxy.drop(api: api) }

      error = assert_raises(KafkaError) {
        Admin.open(kafka, timeout_ms: 3_000) { |admin|
          admin.read_committed_offsets(group, {@topic => [0]})
        }
      }
      assert_equal :timed_out, error.code
      assert_equal({@topic => (0..5).to_h { |partition| [partition, 1] }},
        Admin::Recovery.new(kafka: kafka).read_committed_offsets(group, last_committed_at: Time.now - 600))
    ensure
      cluster.proxy.clear
    end
  end
end
