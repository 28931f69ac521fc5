# frozen_string_literal: true

require "test_helper"
require "support/consuming"
require "support/kafka_server"
require "support/real_broker"

module Penstock
  # A broker that accepts less metadata with an offset than others do.
  class MetadataLimitTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    LIMIT = 96
    COUNT = 300

    class << self
      attr_reader :server

      def before_all
        return if TestSupport::KafkaServer.obstacle

        @server = TestSupport::KafkaServer.new(jvm: TestSupport::KafkaServer::TEST_JVM,
          extra: {"offset.metadata.max.bytes" => LIMIT}).start
      end

      def after_all = @server&.stop
    end

    def kafka
      skip TestSupport::KafkaServer.obstacle unless self.class.server
      {"bootstrap.servers": self.class.server.bootstrap_servers, "auto.commit.interval.ms": 100}
    end

    # Keys complete in patches after one that fails, more of them than fit.
    test "offsets that don't fit are left out: commits succeed again, nothing is lost, and offsets that fit don't run again" do
      topic, done, told = unique("topic").tap { |name| create_topic(name, 1) }, queue, queue
      produce_keyed(topic, Array.new(COUNT) { |index| ["k#{(index * index) % 37}", index.to_s] })
      failing = true
      work = proc do
        messages.each do |message|
          raise "not now" if failing && (message.offset % 7).zero?
          done << message.offset
          mark_as_consumed(message)
        end
      end
      first = consuming(topic, ->(_) { [parallel(by: :key), pause(timeout: 100, max_timeout: 100)] }, concurrency: 4, &work)
      first.application.monitor.subscribe("offsets.metadata_reduced") { |event| told << event[:bytes] }
      assert_operator take(told, 1).first, :>, LIMIT
      wait_until(20, "a map that has room", state: -> { committed_map(topic).to_h }) { committed_map(topic).completed.to_a.any? }
      assert_equal 0, first.stop
      ran = all(done)
      assert_equal 0, committed(topic)
      written = committed_map(topic)
      failing = false
      consuming(topic, ->(_) { parallel by: :key }, concurrency: 4, &work)
      wait_until(20, "all of it") { committed(topic) == COUNT }
      again = all(done)

      assert_equal (0...COUNT).to_a, (ran + again).uniq.sort
      assert_empty again.select { |offset| written.completed.any? { |from, to| (from...to).cover?(offset) } }
      refute_empty written.completed
    end
  end
end
