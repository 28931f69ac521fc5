# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require "penstock/producer"
require_relative "failing_contract"

module Penstock
  # Applications that close the producer with which their dead letters are sent.
  class ClosedProducerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include FailingContract

    def kafka = {**super, "auto.commit.interval.ms": 200}
    def native = super.slice("bootstrap.servers")

    test "the application's own producer is replaced, reported with what to do, and letters are sent as before" do
      topic, dead, ids = letters_topics, unique("dead"), queue
      send_records(topic, [["bad", nil], ["bad", nil], ["good", nil]])
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 1) }) do
        messages.each do |message|
          ids << producer.id
          producer.close
          raise "no" if message.raw_payload == "bad"
          mark_as_consumed(message)
        end
      end

      assert_equal 2, letters(dead, 2).size
      await_committed(topic, 3)
      told = all(running.errors).select { |event| event[:type] == "producer.closed.error" }
      assert_equal [], told.map { |event| event[:producer_id] } - all(ids)
      assert_match(/was closed by its code while it consumes. Remove that `close`/, told.first[:error].message)
      last = running.application.producer
      running.stop
      assert_same last, running.application.producer, "what the application closes itself stays closed"
      assert_predicate last, :closed?
    end

    test "a letter waiting for the application's producer when that is closed is sent with the next one, and its record isn't run again" do
      topic, dead, ran = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      send_records(topic, [["bad", nil]])
      self.class.cluster.inject_errors(:produce, [:topic_authorization_failed])
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) { (ran << 1) && raise("no") }
      wait_until(30, "a failed dispatch") do
        !running.errors.empty? && running.errors.pop[:type] == "dead_letter_queue.dispatch.error"
      end
      running.application.producer.close

      assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 1)
      assert_equal 1, ran.size
    end

    test "with a producer that isn't the application's the record waits, nothing is lost, and the error names the producer" do
      topic, dead, told = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      send_records(topic, [["bad", nil], ["good", nil]])
      own = Producer.new { |config| config.kafka = kafka.slice(:"bootstrap.servers") }
      own.close
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) },
        hooks: {initialized: -> { self.producer = own }}) { raise "no" }
      running.application.monitor.subscribe("error.occurred") do |event|
        told << event if event[:type] == "consumer.error_callback.error"
      end

      take(told, 2, 30).each { |event| assert_includes event[:error].message, "the producer #{own.id}, which sends dead letters" }
      running.stop
      assert_operator committed(topic), :<=, 0
      again = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        messages.each { |message| raise "no" if message.raw_payload == "bad" }
      end
      assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 2)
      again.stop
    end
  end
end
