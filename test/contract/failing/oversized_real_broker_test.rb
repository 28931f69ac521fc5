# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock/admin"
require "penstock/cli/dead/letter"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/runtime/loop/work/letter_watch"
require "support/real_broker"
require_relative "oversized_contract"

module Penstock
  class OversizedOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include OversizedContract

    OversizedContract.add_to(self)

    LIMIT = 100_000

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}

    def dead_topic(limit = LIMIT)
      unique("dead").tap do |name|
        Admin.open(kafka) { |admin| admin.create_topic(name, partitions: 1, config: {"max.message.bytes" => limit.to_s}) }
      end
    end

    # Incompressible data.
    def noise(bytes) = Random.new(7).bytes(bytes)

    def dispatch_failures(running) = all(running.errors).count { |event| event[:type] == "dead_letter_queue.dispatch.error" }

    # Letters that linger share a batch; with a {Runtime::LetterWatch} they leave as soon as they can.
    def lingering(cases, &)
      patient = Class.new do
        def add(_handle) = nil
        def take_done = false
        def done? = false
        def close = nil
      end
      Runtime::LetterWatch.stub(:new, ->(*) { patient.new }) { cases.each(&) }
    end

    test "a letter larger than its topic allows is sent without its payload, and the omitted payload can be read from the source" do
      topic, dead = letters_topics, dead_topic
      send_records(topic, [[noise(LIMIT + 1), "key"], ["fine", nil]])
      consuming(topic, referring(dead)) do
        messages.each { |message| raise "no" if message.offset.zero? }
      end

      letter = letters(dead, 1).first
      assert_equal ["", "payload"], [letter.raw_payload, letter.raw_headers["penstock_omitted"]]
      await_committed(topic, 2)
      originals = CLI::Dead::Originals.new(Cluster.new(kafka), 15_000)
      assert_equal noise(LIMIT + 1), originals.of(CLI::Dead::Letter.new(letter)).raw_payload
      originals.close
    end

    test "a letter that compression makes small enough is sent unchanged" do
      topic, dead = letters_topics, dead_topic
      send_records(topic, [["0" * (LIMIT * 3), nil]])
      config = ->(one) { one.producer { |own| own.kafka = {**own.kafka, "compression.type": "lz4"} } }
      consuming(topic, referring(dead), config: config) { raise "no" }

      assert_equal [LIMIT * 3], letters(dead, 1).map { |one| one.raw_payload.bytesize }
    end

    test "headers that are too large are left out after the payload" do
      topic, dead = letters_topics, dead_topic
      producer = Native::Producer.new(native)
      producer.produce(topic, noise(9), "key", partition: 0, handle: false, headers: {"big" => noise(LIMIT)})
      producer.flush(10_000) or raise "not delivered"
      consuming(topic, referring(dead)) { raise "no" }

      letter = letters(dead, 1).first
      assert_equal ["", "key", "payload,headers", nil],
        [letter.raw_payload, letter.raw_key, *letter.raw_headers.values_at("penstock_omitted", "big")]
    ensure
      producer&.close(2_000)
    end

    test "letters that fit, but not into one batch, all arrive unchanged, with or without the option to omit payloads" do
      lingering(%i[wait reference]) do |oversized|
        topic, dead, begun = letters_topics, dead_topic, queue
        send_records(topic, Array.new(6) { |index| [noise(40_000), "k#{index}"] })
        config = ->(one) { one.producer { |own| own.kafka = {**own.kafka, "linger.ms": 300} } }
        options = lambda do |_|
          [parallel(by: :key, max_partitions: 6), breaker(false),
            dead_letter_queue(topic: dead, max_retries: 0, oversized: oversized)]
        end
        running = consuming(topic, options, concurrency: 6, config: config) do
          begun << true
          TestSupport::Wait.wait_until(30, "the others, so that all fail at once") { begun.size == 6 }
          raise "no"
        end

        assert_equal [40_000], letters(dead, 6).map { |one| one.raw_payload.bytesize }.uniq
        await_committed(topic, 6)
        assert_operator dispatch_failures(running), :>, 1, "none was in a batch with another"
        running.stop
      end
    end

    test "with transactions the letter without its payload and the offset after its record are one transaction" do
      topic, dead = letters_topics, dead_topic
      send_records(topic, [[noise(LIMIT + 1), "key"], ["fine", nil]])
      config = ->(one) { one.producer { |own| own.kafka = {**own.kafka, "transactional.id": dead} } }
      running = consuming(topic, referring(dead), config: config) do
        messages.each { |message| raise "no" if message.offset.zero? }
      end

      await_committed(topic, 2) # the end of the dead letters may also be that of an aborted transaction
      letter = nil # the group's offset may be visible before the same transaction's end in the dead letters
      wait_until(30, "the letter", state: -> { state_of_all }) { letter = letters(dead, 1).first }
      assert_equal ["", "payload"], [letter.raw_payload, letter.raw_headers["penstock_omitted"]]
      told = all(running.errors).map { |event| event[:type] }.select { |type| type.start_with?("dead_letter") }
      # After a refused batch the library first purges the messages of the next transaction.
      assert_equal ["dead_letter_queue.oversized.error", 1], [told.first, told.count("dead_letter_queue.oversized.error")]
    end
  end
end
