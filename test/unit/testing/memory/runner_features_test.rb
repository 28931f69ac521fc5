# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/kit"
require "penstock/testing/memory/runner"
require "support/whole_application"

module Penstock
  # All features of routes and consumers work in a run, because the loops are real.
  class MemoryRunnerFeaturesTest < TestCase
    include TestSupport::WholeApplication

    # Calls the block with the consumer.
    def consumer(base = BaseConsumer, &body) = Class.new(base) { define_method(:consume) { instance_exec(&body) } }

    def consume(application, messages, topic: "orders", **options)
      whole(application) do |kit|
        messages.each { |message| kit.produce(*message, topic: topic, **options) }
        return kit.consume_all
      end
    end

    test "[consume_all] records of a key stay in order where keys run in parallel, also over a retry" do
      seen = []
      failed = false
      klass = consumer do
        messages.each do |message|
          seen << [message.key, message.raw_payload]
          next unless message.raw_payload == "2" && !failed
          failed = true
          raise "once"
        end
      end
      application = orders(klass) { parallel by: :key }
      whole(application) do |kit|
        6.times { |number| kit.produce(number.to_s, topic: :orders, key: %w[a b][number % 2]) }
        run = kit.consume_all
        assert_equal({["shop", "orders", 0] => 6}, run.committed)
      end
      assert_equal %w[0 2 0 2 4], seen.select { |entry| entry.first == "a" }.map(&:last)
      assert_equal %w[1 3 5], seen.select { |entry| entry.first == "b" }.map(&:last)
    end

    test "[consume_all] a batch is gathered until it is full, or its time is up" do
      sizes = []
      klass = consumer { sizes << messages.size }
      run = consume(orders(klass) { batch min: 3, within: 5_000 }, %w[1 2 3 4])
      assert_equal 4, sizes.sum
      assert_operator sizes.first, :>=, 3
      assert_operator run.duration_ms, :<, 60_000
    end

    test "[consume_all] a pause ends by itself, and one without an end leaves records waiting" do
      klass = consumer { pause(:consecutive, 60_000) }
      run = consume(orders(klass) { max_messages 1 }, %w[1 2])
      assert_equal [0, 1], run.consumed.map(&:offset)
      assert_operator run.duration_ms, :>=, 60_000
      klass = consumer { pause(:consecutive, Float::INFINITY) }
      run = consume(orders(klass) { max_messages 1 }, %w[1 2])
      assert_equal [0], run.consumed.map(&:offset)
      assert_equal [["orders/0", :user, nil]], run.waiting.map { |wait| [wait.place, wait.reason, wait.until] }
    end

    test "[consume_all] a consumer that seeks back sees its records again" do
      seen = []
      klass = consumer do
        messages.each { |message| seen << message.offset }
        seek(0) if seen == [0, 1]
      end
      consume(orders(klass), %w[1 2])
      assert_equal [0, 1, 0, 1], seen
    end

    test "[consume_all] the end of a partition is announced" do
      ends = 0
      klass = consumer(Noting) {}
      klass.define_method(:eofed) { ends += 1 }
      application = orders(klass) { eofed true }
      run = consume(application, [])
      assert_equal 1, ends
      assert_equal [:eofed], run.calls.map(&:action)
    end

    test "[consume_all] a commit that the consumer waits for is answered while it waits" do
      answers = []
      klass = consumer { messages.each { |message| answers << mark_as_consumed!(message) } }
      run = consume(orders(klass) { manual_offset_management true }, %w[1 2])
      assert_equal [true, true], answers
      assert_equal({["shop", "orders", 0] => 2}, run.committed)
    end

    test "[consume_all] a transaction's messages and offset become visible together, or not at all" do
      tries = 0
      klass = consumer do
        transaction do
          producer.produce_async(topic: "invoices", payload: messages.first.raw_payload)
          mark_as_consumed(messages.last)
          raise "aborted" if (tries += 1) == 1
        end
      end
      application = orders(klass, kafka: {"transactional.id": "shop-1"}) do
        manual_offset_management true
        dead_letter_queue topic: "dead", max_retries: 3
      end
      run = consume(application, %w[1])
      assert_equal 2, tries
      assert_equal ["invoices"], run.produced.map(&:topic)
      assert_equal({["shop", "orders", 0] => 1}, run.committed)
    end

    test "[consume_all] with a transactional producer a dead letter and its offset share a transaction" do
      application = orders(Failing, kafka: {"transactional.id": "shop-1"}) { dead_letter_queue topic: "dead", max_retries: 1 }
      run = consume(application, %w[1])
      assert_equal [["dead", 2]], run.dead_lettered.map { |letter| [letter.to, letter.attempts] }
      assert_equal({["shop", "orders", 0] => 1}, run.committed)
      assert_equal ["dead"], run.produced.map(&:topic)
    end

    test "[consume_all] routes with run_on run on the test's thread too" do
      threads = []
      klass = consumer { threads << [Thread.current, ::Process.pid] }
      application = application do
        {orders: :processes, others: :fibers}.each do |name, place|
          topic(name) do
            consumer klass
            run_on place, max: 2
          end
        end
      end
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        kit.produce("1", topic: :others)
        kit.consume_all
      end
      assert_equal [[Thread.current, ::Process.pid]] * 2, threads
    end

    test "[consume_all] patterns find topics that appear, and their records are consumed" do
      topics = []
      klass = consumer { topics << messages.first.topic }
      application = application { pattern(/shop\..*/) { consumer klass } }
      whole(application) do |kit|
        kit.produce("1", topic: "shop.a")
        kit.consume_all
        kit.produce("1", topic: "shop.b")
        kit.consume_all
      end
      assert_equal %w[shop.a shop.b], topics
    end

    test "[consume_all] routes with assign read their partitions without a group" do
      application = orders(Noting) do
        assign true
        config(partitions: 2)
      end
      whole(application) do |kit|
        2.times { |number| kit.produce(number.to_s, topic: :orders, partition: number) }
        run = kit.consume_all
        assert_equal [[0, 0], [1, 0]], run.consumed.map { |record| [record.partition, record.offset] }.sort
        assert_equal({["shop", "orders", 0] => 1, ["shop", "orders", 1] => 1}, run.committed)
      end
    end

    test "[consume_all] several groups read a topic, and several connections share a group" do
      application = application do
        consumer_group(:a) { topic(:orders) { consumer Noting } }
        consumer_group(:b) do
          subscription_group(:s) do
            multiplexing(max: 2)
            topic(:orders) do
              consumer Noting
              config(partitions: 4)
            end
          end
        end
      end
      whole(application) do |kit|
        4.times { |number| kit.produce(number.to_s, topic: :orders, partition: number) }
        run = kit.consume_all
        assert_equal({"a" => 4, "b" => 4}, run.consumed.group_by(&:group).transform_values(&:size))
      end
    end

    test "[consume_all] an assertion that fails in a consumer fails the test, instead of being retried" do
      klass = consumer { raise Minitest::Assertion, "wrong total" }
      error = assert_raises(Minitest::Assertion) { consume(orders(klass), %w[1]) }
      assert_equal "wrong total", error.message
    end

    test "[consume_all] the first error of a consumer can end the run" do
      application = orders(Failing) { dead_letter_queue topic: "dead", max_retries: 1 }
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        assert_equal "record 0", assert_raises(RuntimeError) { kit.consume_all(raise_errors: true) }.message
        assert_equal ["dead"], kit.consume_all.dead_lettered.map(&:to)
      end
    end

    test "[consume_all] a consumer that produces to its own topic ends the run with an error" do
      klass = consumer { messages.each { |message| producer.produce_sync(topic: "orders", payload: message.raw_payload) } }
      whole(orders(klass)) do |kit|
        kit.produce("1", topic: :orders)
        error = assert_raises(Testing::EndlessRunError) { kit.consume_all(limit: 20) }
        assert_equal "consume_all doesn't end: more than 20 calls of consumers, the last are orders/0 consume at offset 16; " \
          "orders/0 consume at offset 17; orders/0 consume at offset 18; orders/0 consume at offset 19; orders/0 consume at " \
          "offset 20. A consumer that produces to a topic that it reads never ends; if that many are right, allow them: " \
          "consume_all(limit: 200)", error.message
      end
    end

    test "[consume_all] a record that fails for ever ends the run with an error that names it" do
      whole(orders(Failing)) do |kit|
        kit.produce("1", topic: :orders)
        error = assert_raises(Testing::EndlessRunError) { kit.consume_all }
        assert_equal "orders/0 offset 0 fails with RuntimeError: record 0, again and again: 1000 times. Its route tries for " \
          "ever: add dead_letter_queue max_retries:, or end the run earlier, with consume_all(within: 60) or " \
          "consume_all(raise_errors: true)", error.message
      end
    end

    test "[consume_all] a critical error stops the process and is raised; the next run starts another" do
      failed = false
      klass = consumer do
        first, failed = !failed, true
        raise CriticalError, "no licence" if first
      end
      application = orders(klass)
      whole(application) do |kit|
        kit.produce("1", topic: :orders)
        assert_equal "no licence", assert_raises(CriticalError) { kit.consume_all }.message
        assert_equal [0], kit.consume_all.consumed.map(&:offset)
      end
    end

    test "[consume_all] many records that fail alike open the breaker, as in production; without one all are dead-lettered" do
      many = lambda do |breaker|
        application = orders(Failing) do
          max_messages 1
          breaker(breaker) if breaker == false
          dead_letter_queue topic: "dead", max_retries: 1
        end
        consume(application, Array.new(25, &:to_s))
      end
      assert_equal 25, many.call(false).dead_lettered.size
      error = assert_raises(Testing::EndlessRunError) { many.call(true) }
      assert_match(/again and again: 1000 times\. Many records of orders fail alike, so its breaker holds it: add breaker false/,
        error.message)
    end

    test "[consume_all] messages that a consumer's own threads produce are consumed too" do
      forwarding = consumer do
        each { |message| Thread.new { producer.produce_sync(topic: "others", payload: message.raw_payload) }.join }
        Thread.new { commit_offsets }.join
      end
      seen = []
      noting = consumer { each { |message| seen << message.raw_payload } }
      application = application do
        topic(:orders) { consumer forwarding }
        topic(:others) { consumer noting }
      end
      consume(application, %w[1 2])
      assert_equal %w[1 2], seen
    end

    test "[rebalance in a test] in a consumer its partition is revoked when it has returned, and comes back" do
      kit = nil
      seen = []
      klass = consumer do
        messages.each do |message|
          kit.rebalance if seen.empty?
          seen << [message.offset, revoked?]
        end
        mark_as_consumed(messages.first)
      end
      klass.define_method(:revoked) { seen << :revoked }
      whole(orders(klass) { manual_offset_management true }) do |given|
        kit = given
        %w[1 2].each { |payload| kit.produce(payload, topic: :orders) }
        run = kit.consume_all
        assert_equal [1], run.redelivered.map(&:offset)
      end
      assert_equal [[0, true], [1, true], :revoked, [1, false]], seen
    end

    # Consumes in transactions; a bad record fails. Crashes once, while the bad one's letter is in a transaction.
    def crashing_in_a_letter(kit)
      failed = crashed = false
      consumer do
        each do |message|
          (failed = true) && raise("bad") if message.raw_payload == "bad"
          (crashed = true) && kit.call.crash if failed && !crashed && message.offset == 1
          transaction { mark_as_consumed(message) }
        end
      end
    end

    test "[crash in a test] a letter's transaction ends with the process: the next one sends its letters" do
      kit = nil
      klass = crashing_in_a_letter(-> { kit })
      application = orders(klass, kafka: {"transactional.id": "shop-1"}, concurrency: 1) do
        parallel by: :key, distribution: :consistent, max_partitions: 2
        config partitions: 3
        retry_topics delays: [100], finally: false
      end
      whole(application) do |opened|
        kit = opened
        %w[bad good good good].each { |payload| kit.produce(payload, topic: :orders, partition: 0, key: "k") }
        2.times { |number| 3.times { kit.produce("good", topic: :orders, partition: number + 1, key: "k") } }
        runs = Array.new(2) { kit.consume_all }
        assert_equal [true, false], runs.map(&:crashed?)
        assert_equal [0], runs.last.sent_to_retry.map(&:offset)
      end
    end

    test "[crash in a test] a record that kills its process again and again is dead-lettered without being run" do
      kit = nil
      klass = consumer { kit.crash if messages.first.raw_payload == "bad" }
      application = orders(klass) do
        max_messages 1
        dead_letter_queue topic: "dead", max_retries: 5
        quarantine max_crashes: 2
      end
      whole(application) do |given|
        kit = given
        %w[bad good].each { |payload| kit.produce(payload, topic: :orders) }
        runs = Array.new(5) { kit.consume_all }
        assert_equal [true, true, true, true, false], runs.map(&:crashed?)
        assert_equal [0], runs.last.dead_lettered.map(&:offset)
        assert_equal [1], runs.last.consumed.map(&:offset)
      end
    end

    test "[rebalance in a test] without a process, or without such a partition, is an error" do
      whole(orders(Noting)) do |kit|
        assert_equal "no process runs that could lose partitions: call penstock.consume_all first, or call this in a consumer",
          assert_raises(Testing::RunStateError) { kit.rebalance }.message
        assert_match(/\Ano process runs that could crash/, assert_raises(Testing::RunStateError) { kit.crash }.message)
        kit.consume_all
        assert_equal "the process has no partition orders/3 that it could lose; it has orders/0",
          assert_raises(Testing::RunStateError) { kit.rebalance(:orders, partitions: 3) }.message
      end
    end

    test "[consume_all] a consumer can't start a run of its own" do
      kit = nil
      klass = consumer { kit.consume_all }
      whole(orders(klass)) do |given|
        kit = given
        kit.produce("1", topic: :orders)
        assert_equal "a consumer can't call consume_all or travel: the run that has called it continues by itself",
          assert_raises(Testing::RunStateError) { kit.consume_all(raise_errors: true) }.message
      end
    end

    test "[consume_all] without a topic that is consumed, an error names the topics that there are" do
      whole(application { topic(:orders) { active false } }) do |kit|
        assert_match(/routes: No topics to subscribe to\. Every routed topic is filtered out or not active: orders\./,
          assert_raises(ConfigurationError) { kit.consume_all }.message)
      end
    end

    test "[travel] time can't pass backwards" do
      whole(orders(Noting)) do |kit|
        assert_equal "time passes forwards: -60 is below 0", assert_raises(ArgumentError) { kit.travel(-60) }.message
      end
    end

    test "[travel] what Ruby's time was moved by passes in virtual time too" do
      whole(orders(Noting) { delay_by 60_000 }) do |kit|
        kit.produce("1", topic: :orders)
        assert_empty kit.consume_all(within: 1).consumed
        frozen = Time.now + 60
        run = Time.stub(:now, frozen) { kit.consume_all(within: 1) }
        assert_equal [0], run.consumed.map(&:offset)
      end
    end
  end
end
