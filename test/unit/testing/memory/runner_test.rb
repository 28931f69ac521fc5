# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/kit"
require "penstock/testing/memory/runner"
require "support/whole_application"

module Penstock
  class MemoryRunnerTest < TestCase
    include TestSupport::WholeApplication

    def consumer_class(&body) = Class.new(BaseConsumer) { define_method(:consume) { instance_exec(&body) } }

    test "[consume_all] everything that was produced is consumed, on the thread of the test, on its fiber" do
      places = []
      run = whole(orders(consumer_class { places << [Thread.current, Fiber.current] })) do |kit|
        3.times { |number| kit.produce(number.to_s, topic: :orders) }
        kit.consume_all
      end
      assert_equal [[Thread.current, Fiber.current]], places
      assert_equal [0, 1, 2], run.consumed.map(&:offset)
      assert_equal({["shop", "orders", 0] => 3}, run.committed)
    end

    test "[consume_all] a record that fails is retried after its back-off, in virtual time, and dead-lettered" do
      application = application(pause: 60_000) do
        topic(:orders) do
          consumer Failing
          dead_letter_queue topic: "orders.dead", max_retries: 2
        end
      end
      run = whole(application) do |kit|
        kit.produce("bad", topic: :orders)
        kit.consume_all
      end
      assert_equal [["orders", 0, 3, "orders.dead"]], run.dead_lettered.map { |letter| letter.to_a.values_at(0, 2, 3, 4) }
      assert_operator run.duration_ms, :>=, 120_000
      assert_equal ["orders.dead"], run.produced.map(&:topic)
      assert_equal 3, run.errors.size
    end

    test "[consume_all] wrap doesn't see an error, as in a server: a rescue in it doesn't make the record count as done" do
      seen = []
      rescuing = Class.new(Failing) do
        define_method(:wrap) do |action, &job|
          job.call
          seen << action
        rescue => error
          seen << error
        end
      end
      application = application(pause: 1_000) do
        topic(:orders) do
          consumer rescuing
          dead_letter_queue topic: "orders.dead", max_retries: 1
        end
      end
      run = whole(application) do |kit|
        kit.produce("bad", topic: :orders)
        kit.consume_all
      end

      assert_equal [%i[consume consume], 2, 1], [seen.first(2), run.errors.size, run.dead_lettered.size]
    end

    test "[consume_all] what consumers produce is consumed too, by other routes and by the same" do
      seen = []
      forwarding = consumer_class { each { |message| producer.produce_sync(topic: "invoices", payload: message.raw_payload) } }
      noting = consumer_class { each { |message| seen << message.raw_payload } }
      application = application do
        topic(:orders) { consumer forwarding }
        topic(:invoices) { consumer noting }
      end
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        kit.consume_all
        assert_equal ["1"], seen
        kit.produce("2", topic: :orders)
        kit.consume_all
      end
      assert_equal %w[1 2], seen
    end

    test "[consume_all] records go through retry topics, each after its delay" do
      application = application do
        topic(:orders) do
          consumer Failing
          retry_topics delays: [5_000, 60_000], finally: "orders.dead"
        end
      end
      run = whole(application) do |kit|
        kit.produce("bad", topic: :orders)
        kit.consume_all
      end
      assert_equal %w[orders.retry.1 orders.retry.2], run.sent_to_retry.map(&:to)
      assert_equal ["orders.dead"], run.dead_lettered.map(&:to)
      assert_operator run.duration_ms, :>=, 65_000
    end

    test "[consume_all] delay_by passes, unless the run may not wait that long" do
      application = orders(Noting) { delay_by 60_000 }
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        run = kit.consume_all(within: 30)
        assert_empty run.consumed
        assert_equal [["orders", 0, :delay]], run.waiting.map { |wait| wait.to_a.values_at(0, 1, 4) }
        run = kit.travel(60)
        assert_equal [0], run.consumed.map(&:offset)
      end
    end

    test "[consume_all] messages that are delayed arrive in virtual time" do
      application = application do
        delay_topics delays: [1_000, 10_000]
        topic(:orders) { consumer Noting }
      end
      whole(application) do |kit|
        application.delays.schedule({topic: "orders", payload: "1"}, at: Time.now + 25)
        assert_empty kit.consume_all(within: 5).consumed.select { |record| record.topic == "orders" }
        run = kit.consume_all
        assert_equal [0], run.consumed.select { |record| record.topic == "orders" }.map(&:offset)
        assert_operator run.duration_ms, :>=, 15_000
      end
    end

    test "[travel] periodic routes tick as time passes" do
      ticks = 0
      ticking = Class.new(Noting) { define_method(:tick) { ticks += 1 } }
      whole(orders(ticking) { periodic interval: 60_000 }) do |kit|
        kit.consume_all
        assert_equal 0, ticks
        kit.travel(600)
      end
      assert_includes 9..10, ticks
    end

    test "[travel] it takes exactly the time, and ends before ticks that aren't due" do
      ticking = Class.new(Noting) { define_method(:tick) { nil } }
      whole(orders(ticking) { periodic interval: 500 }) do |kit|
        kit.produce("1", topic: :orders)
        kit.consume_all
        steps = Array.new(12) { |number| 5_000 + number * 30 }
        assert_equal steps, steps.map { |milliseconds| kit.travel(Rational(milliseconds, 1_000)).duration_ms }
      end
    end

    test "[travel] centuries without work pass at once; what is due meanwhile keeps its time" do
      application = orders(Noting) { delay_by 3 * 86_400_000 }
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        assert_empty kit.travel(3 * 86_400 - 60).consumed
        assert_equal [0], kit.travel(120).consumed.map(&:offset)
        assert_equal 200 * 365 * 86_400_000, kit.travel(200 * 365 * 86_400).duration_ms
      end
    end

    test "[rebalance in a test] records that weren't marked are consumed again by the next owner" do
      %w[range cooperative-sticky].each do |strategy|
        marking = consumer_class { mark_as_consumed(messages.first) }
        application = orders(marking, kafka: {"partition.assignment.strategy": strategy}) { manual_offset_management true }
        whole(application) do |kit|
          2.times { |number| kit.produce(number.to_s, topic: :orders) }
          assert_equal [], kit.consume_all.redelivered
          kit.rebalance
          assert_equal [1], kit.consume_all.redelivered.map(&:offset), strategy
        end
      end
    end

    test "[rebalance in a test] of several partitions and topics under each protocol, also next to a tick" do
      [{"partition.assignment.strategy": "range"}, {"partition.assignment.strategy": "cooperative-sticky"}, {},
        {"group.protocol": "consumer"}].each do |kafka|
        application = application(kafka: kafka) do
          topic(:orders) do
            consumer Noting
            config(partitions: 3)
            manual_offset_management true
          end
          topic(:payments) do
            consumer Class.new(Noting) { def tick = nil }
            manual_offset_management true
            periodic interval: 50
          end
        end
        whole(application) do |kit|
          3.times { |number| kit.produce("1", topic: :orders, partition: number) }
          kit.produce("1", topic: :payments)
          assert_equal 4, kit.consume_all.consumed.size
          kit.rebalance
          assert_equal 4, kit.consume_all(within: 60).redelivered.size, kafka
        end
      end
    end

    test "[rebalance in a test] also under the protocol of KIP-848, and only for the partitions that are named" do
      revoked = []
      noting = Class.new(Noting) { define_method(:revoked) { revoked << partition } }
      application = orders(noting, kafka: {"group.protocol": "consumer"}) do
        config(partitions: 2)
        manual_offset_management true
      end
      whole(application) do |kit|
        2.times { |number| kit.produce(number.to_s, topic: :orders, partition: number) }
        kit.consume_all
        kit.rebalance(:orders, partitions: 1)
        run = kit.consume_all
        assert_equal [[1, 0]], run.redelivered.map { |record| [record.partition, record.offset] }
      end
      assert_equal [1], revoked
    end

    test "[consume_all] messages of the test in a topic that no route reads are named, with what was probably meant" do
      application = application do
        topic(:orders) { consumer Noting }
        pattern(/invoices\..*/) { consumer Noting }
      end
      whole(application) do |kit|
        2.times { kit.produce("1", topic: "odrers") }
        kit.produce("1", topic: "invoices.eu")
        shown = kit.consume_all.to_s
        assert_equal "no route reads the topic odrers (2 messages of the test). Did you mean orders?", shown.lines.last
        kit.produce("1", topic: "orders")
        refute_match(/no route reads/, kit.consume_all.to_s)
      end
    end

    test "[crash in a test] what wasn't committed is consumed again, and no hook is called" do
      hooks = []
      noting = Class.new(Noting) { %i[shutdown revoked].each { |hook| define_method(hook) { hooks << hook } } }
      whole(orders(noting) { manual_offset_management true }) do |kit|
        kit.produce("1", topic: :orders)
        kit.consume_all
        kit.crash
        run = kit.consume_all
        assert_equal [0], run.redelivered.map(&:offset)
      end
      assert_empty hooks
    end

    test "[crash in a test] a process that dies in a consumer runs nothing after that, and its records come again" do
      kit = nil
      seen = []
      dying = consumer_class do
        each do |message|
          seen << message.offset
          kit.crash if message.offset == 1 && seen.count(1) == 1
        end
      end
      whole(orders(dying) { max_messages 1 }) do |given|
        kit = given
        3.times { |number| kit.produce(number.to_s, topic: :orders) }
        assert_predicate kit.consume_all, :crashed?
        assert_equal [0, 1], seen
        run = kit.consume_all
        assert_equal [0, 1], run.redelivered.map(&:offset)
      end
      assert_equal [0, 1, 0, 1, 2], seen
    end
  end
end
