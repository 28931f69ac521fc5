# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"

module Penstock
  # Several examples at the same time, in threads.
  class KitExamplesTest < TestCase
    include TestSupport::KitExamples

    def setup
      super
      @kit.close # each test opens its own
    end

    # Runs the block in a thread for each example, all at the same time, and ends them.
    # @return [Array<Object>] what it returned
    def at_once(count)
      all_began = Queue.new
      threads = Array.new(count) do |number|
        Thread.new do
          kit = Testing::Kit.new(self).open
          all_began << number
          wait_until(5, "all to begin") { all_began.size == count }
          yield(kit, number)
        ensure
          kit&.close
        end
      end
      threads.map(&:value)
    end

    test "[Isolation] examples in threads share the application's producer, and each sees only its own messages" do
      ended = Queue.new
      seen = at_once(8) do |kit, number|
        consumer = kit.consumer_for(:orders)
        50.times { producer.produce_async(topic: "orders", payload: number.to_s) }
        kit.produce(number.to_s)
        ended << number
        wait_until(5, "all to produce") { ended.size == 8 }
        [kit.produced_messages.map(&:payload), consumer.messages.map(&:raw_payload), kit.produced_messages.last.offset]
      end

      seen.each_with_index { |of_one, number| assert_equal [[number.to_s] * 51] * 2 + [50], of_one }
      assert_predicate producer.status, :configured?
    end

    test "[Isolation] the producer keeps its client in memory until the last example has ended" do
      first = Testing::Kit.new(self).open
      second = Testing::Kit.new(self).open
      first.close
      producer.produce_sync(topic: "orders", payload: "1")

      assert_equal [0, 1], [first, second].map { |kit| kit.produced_messages.size }
      second.close
      assert_predicate producer.status, :configured?
    end

    test "a thread of the application belongs to the only example" do
      kit = Testing::Kit.new(self).open
      Thread.new { producer.produce_sync(topic: "orders", payload: "1") }.join

      assert_equal 1, kit.produced_messages.size
    ensure
      kit.close
    end

    test "where several examples run, a thread of neither has to be bound to one" do
      before = Queue.new
      thread = Thread.new { before.pop.call } # started before the examples, so that it inherits none
      mine, other = Array.new(2) { Testing::Kit.new(self).open }
      error = nil
      before << lambda do
        error = assert_raises(Testing::AmbiguousMessageError) { producer.produce_sync(topic: "orders", payload: "0") }
        mine.within { producer.produce_sync(topic: "orders", payload: "1") }
      end
      thread.join

      assert_match(/\A2 examples run at once, and the thread #<Thread.* belongs to none of them: wrap .* `penstock.within/,
        error.message)
      assert_equal [1, 0], [mine, other].map { |kit| kit.produced_messages.size }
    ensure
      [mine, other].each(&:close)
    end

    test "fibers of an example's thread belong to it" do
      sizes = at_once(2) do |kit, number|
        Fiber.new { producer.produce_sync(topic: "orders", payload: number.to_s) }.resume
        kit.produced_messages.map(&:payload)
      end

      assert_equal [%w[0], %w[1]], sizes
    end

    test "a thread that an example starts belongs to it, where Ruby hands on a fiber's storage" do
      skip "Ruby #{RUBY_VERSION} doesn't: from 3.2 on" if (RUBY_VERSION.split(".").map(&:to_i) <=> [3, 2]).negative?
      seen = at_once(2) do |kit, number|
        Thread.new { producer.produce_sync(topic: "orders", payload: number.to_s) }.join
        kit.produced_messages.map(&:payload)
      end

      assert_equal [%w[0], %w[1]], seen
    end

    test "delayed messages of examples in threads arrive in the run of their own example" do
      @penstock_application = application(proc do
        delay_topics delays: [1_000]
        topic(:orders) { consumer BlockConsumer }
      end)
      BlockConsumer.block = proc {}
      began = Queue.new
      arrived = at_once(3) do |kit, number|
        penstock_application.delays.schedule({topic: "orders", payload: number.to_s}, at: Time.now + 60)
        began << number
        wait_until(5, "all to run") { began.size >= 3 } # others may have run already
        kit.consume_all
        began << number
        wait_until(5, "all to have run") { began.size == 6 }
        kit.produced_messages.select { |message| message.topic == "orders" }.map(&:payload)
      end

      assert_equal [%w[0], %w[1], %w[2]], arrived
    end

    test "no example: a message of a held producer is dropped" do
      Testing::Kit::Examples.hold(producer) { Testing::Kit::MemoryClient.new }
      report = producer.produce_sync(topic: "orders", payload: "1")

      assert_equal [0, nil], [report.offset, report.error]
    ensure
      Testing::Kit::Examples.release(producer)
    end
  end
end
