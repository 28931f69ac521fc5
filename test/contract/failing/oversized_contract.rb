# frozen_string_literal: true

require "penstock/cli/dead/originals"
require "penstock/config/kafka_map"
require "penstock/reading/connection"
require "penstock/processing/failure/message"
require_relative "failing_contract"

module Penstock
  # Letters that are too large, with any broker. Including modules define the same as for {FailingContract}.
  module OversizedContract
    include FailingContract

    extend TestSupport::Rules

    PAYLOAD = "0123456789" * 400

    # Low limits of the application's producer: its own, or the client's.
    LIMITS = {
      "max_payload_size" => ->(own) { own.max_payload_size = 2_000 },
      "message.max.bytes" => ->(own) { own.kafka = {**own.kafka, "message.max.bytes": 3_500} }
    }.freeze

    LIMITS.each do |name, limit|
      rule "a letter beyond #{name} is sent without its payload if the route allows it, once and reported" do
        topic, dead, seen = letters_topics, unique("dead"), queue
        send_records(topic, [["good", "a"], [PAYLOAD, "key"], ["fine", "c"]])
        running = consuming(topic, referring(dead), config: ->(one) { one.producer(&limit) }) do
          messages.each do |message|
            seen << message.offset
            raise "no" if message.offset == 1
            mark_as_consumed(message)
          end
        end

        await_committed(topic, 3)
        letter = letters(dead, 1).first
        assert_equal ["", "key", "web", topic, "1", "payload", "4000"], [letter.raw_payload, letter.raw_key,
          *letter.raw_headers.values_at("from", "source_topic", "source_offset", "penstock_omitted", "penstock_payload_bytes")]
        assert_equal [["consumer.consume.error", nil], ["dead_letter_queue.oversized.error", "payload"]],
          all(running.errors).map { |event| event.payload.values_at(:type, :omitted) }
        assert_equal [0, 1, 2], all(seen)
      end
    end

    rule "a record too large for its retry topic is dead-lettered at once, and the records after it continue" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, [[PAYLOAD, "key"], ["small", nil]])
      config = ->(one) { one.producer(&LIMITS.fetch("message.max.bytes")) }
      options = ->(_) { retry_topics(delays: [100], finally: dead, oversized: :reference) }
      running = consuming(topic, options, config: config) { messages.each { raise "no" } }

      found = letters(dead, 2)
      assert_equal [["", "1", "payload"], ["small", "2", nil]],
        found.map { |one| [one.raw_payload, *one.raw_headers.values_at("source_attempts", "penstock_omitted")] }
      await_committed(topic, 2)
      told = all(running.errors).select { |event| event[:type] == "dead_letter_queue.oversized.error" }
      assert_equal [[nil, dead], ["payload", dead]], told.map { |event| event.payload.values_at(:omitted, :to) },
        "whole first, then without"
    end

    LIMITS.each do |name, limit|
      rule "a record that a consumer dead-letters itself is also sent without its payload beyond #{name}" do
        topic, dead, told, listens = letters_topics, unique("dead"), queue, queue
        send_records(topic, [[PAYLOAD, "key"]])
        options = ->(_) { dead_letter_queue(topic: dead, oversized: :reference, dispatch_method: :produce_sync) }
        running = consuming(topic, options, config: ->(one) { one.producer(&limit) }) do
          listens.pop
          messages.each { |message| dispatch_to_dlq(message) }
        end
        running.application.monitor.subscribe("dead_letter_queue.dispatched") { |event| told << event[:omitted] }
        listens << true

        assert_equal [["", "payload", "dispatched"]],
          letters(dead, 1).map { |one| [one.raw_payload, *one.raw_headers.values_at("penstock_omitted", "penstock_reason")] }
        await_committed(topic, 1)
        assert_equal ["payload"], all(told)
      end
    end

    rule "without the option the letter is sent again and again, reported each time, and the offset doesn't move" do
      topic, dead = letters_topics, unique("dead")
      create_topic(dead, 1)
      send_records(topic, [[PAYLOAD, "key"], ["fine", nil]])
      config = ->(one) { one.producer(&LIMITS.fetch("message.max.bytes")) }
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }, config: config,
        shutdown_timeout: 2_000) do
        messages.each { |message| raise "no" if message.offset.zero? }
      end

      failures = 0
      wait_until(30, "two dispatches that fail", state: -> { state_of_all }) do
        failures += 1 if !running.errors.empty? && running.errors.pop[:type] == "dead_letter_queue.dispatch.error"
        failures >= 2
      end
      assert_operator committed(topic), :<=, 0
      assert_equal 0, ends_of(dead).values.sum
    end

    rule "an omitted payload is read from its source, and reported as missing if it was deleted" do
      topic = letters_topics
      send_records(topic, [["good", "a"], [PAYLOAD, "key"], ["fine", "c"]])
      originals = CLI::Dead::Originals.new(Cluster.new(kafka), 15_000)
      found = Array.new(2) { originals.of(reference(topic, 1)) }

      assert_equal [[PAYLOAD, "key"]], found.map { |one| [one.raw_payload, one.raw_key] }.uniq
      reasons = {reference(topic, 3) => "ends at offset 3", reference(topic, 2) => "there is another record at #{topic}/0/2",
                 reference("#{topic}-gone", 1) => "doesn't exist any more", reference(topic, -1) => "doesn't name the offset",
                 reference(topic, 1, partition: 2**40) => "doesn't name the offset"}
      reasons.each do |letter, text|
        error = assert_raises(CLI::Dead::Originals::GoneError) { originals.of(letter) }
        assert_includes error.message, text
      end
      assert_nil originals.gone(reference(topic, 2)), "that is known when it was read"
    ensure
      originals&.close
    end

    # @return [Proc] the route's options
    def referring(dead) = ->(_) { dead_letter_queue(topic: dead, max_retries: 0, oversized: :reference) }

    # The part of a cluster that {CLI::Dead::Originals} needs.
    Cluster = Struct.new(:kafka) do
      def admin(&) = Admin.open(kafka, &)

      def reader(timeout_ms)
        Reading::Connection.new(Config::KafkaMap.reading(kafka), timeout_ms: timeout_ms)
      end
    end

    # A letter for a record like the second one sent.
    def reference(topic, offset, partition: 0)
      row = Messages::MemoryBatch::Row.new(offset: offset, payload: PAYLOAD, key: "key", timestamp: SENT_MS + 1)
      record = Message.new(Messages::MemoryBatch.new(topic, partition, [row]), 0)
      whole = Processing::Failure::Message.dead_letter(record, topic: "dead", group: "g", error: RuntimeError.new, attempt: 1,
        trace_id: "t", now_ms: 0)
      sent = Processing::Failure::Oversized.reduced(whole, record)
      row = Messages::MemoryBatch::Row.new(offset: 0, payload: "", key: "key", headers: sent[:headers], timestamp: 5)
      CLI::Dead::Letter.new(Message.new(Messages::MemoryBatch.new("dead", 0, [row]), 0))
    end
  end
end
