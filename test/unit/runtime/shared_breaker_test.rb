# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "penstock/runtime/breaker_registry"
require "penstock/runtime/loop/mailbox"

module Penstock
  class SharedBreakerTest < TestCase
    include TestSupport::Failing

    def setup
      @registry = Runtime::BreakerRegistry.new(@clock = VirtualClock.new)
    end

    def of(name, group: "shop", **features)
      topic = route(name: name, features: {**dead_letters(0), breaker: breaking(after: 2), **features})
      topic.define_singleton_method(:consumer_group_id) { group }
      @registry.of(topic)
    end

    def tiers(tier) = Routing::RetryTopics.new("orders", [100, 200], "dead", tier, "wait")

    def fail_twice(breaker)
      2.times do |record|
        breaker.failed(attempt(["orders", 0, record], record), @clock.monotonic_ms)
      end
    end

    def attempt(record, number)
      Processing::Failure::Breaker::Attempt.new(record: record, error: KeyError.new("no"), number: number, sequence: record,
        fresh: true)
    end

    test "a topic and its retry topics have one breaker in all connections, each consumer group has its own" do
      one = of("orders", dead_letter_queue: nil, retry_topics: tiers(0))
      assert_same one, of("orders.retry.2", dead_letter_queue: nil, retry_topics: tiers(2))
      assert_equal %w[orders orders.retry.1 orders.retry.2], one.topics
      refute_same one, of("orders", group: "mails")
      refute_same one, of("invoices")
      assert_equal 3, @registry.all.size
    end

    test "a route without a breaker has none" do
      assert_nil of("orders", breaker: false)
      assert_empty @registry.all
    end

    test "from the first failure on, other connections read successes at once: they are woken, and don't collect any" do
      breaker = of("orders")
      woken = Array.new(2) { [] }
      mailboxes = woken.map { |calls| Runtime::Mailbox.new.tap { |mailbox| mailbox.wake = -> { calls << true } } }
      breaker.watch(mailboxes.first)
      breaker.failed(attempt(["orders", 0, 0], 0), @clock.monotonic_ms)
      assert_equal [[], false], [woken.first, breaker.awaits_success?], "a single connection reads in order"
      breaker.unit_succeeded(Struct.new(:sequence).new(["orders", 0, 0]))
      breaker.watch(mailboxes.last)
      refute breaker.awaits_success?
      breaker.failed(attempt(["orders", 0, 1], 1), @clock.monotonic_ms)

      assert_equal [[true], [true]], woken
      assert breaker.awaits_success?
    end

    test "the event of an opened breaker has the record, the topics held, and the longest hold" do
      breaker = of("orders")
      fail_twice(breaker)
      name, event = breaker.take_event
      assert_equal "breaker.opened", name
      assert_equal ["orders", 0, 1, ["orders"], "KeyError", 2, 2, 300_000],
        event.values_at(:topic, :partition, :offset, :topics, :cause, :count, :of, :limit)
      assert_equal "a record that succeeds, the limit, or `penstock breaker close --pid #{::Process.pid}`", event[:ended_by]
      assert_nil breaker.take_event
    end

    test "a probe that ends without a result wakes the loops: another one may send the next" do
      breaker = of("orders")
      woken = Thread::Queue.new
      mailbox = Runtime::Mailbox.new.tap { |one| one.wake = -> { woken << true } }
      breaker.watch(mailbox)
      fail_twice(breaker)
      assert breaker.probe(@clock.monotonic_ms, fresh: true)
      woken.clear
      undecodable = attempt(["orders", 0, 9], 9)
      undecodable.error = DeserializationError.new(topic: "orders", partition: 0, offset: 9)
      assert_equal :counted, breaker.failed(undecodable, @clock.monotonic_ms)
      assert_empty woken, "a record of its own error that is no probe changes nothing"
      undecodable.probe = true
      breaker.failed(undecodable, @clock.monotonic_ms)
      assert_equal [:open, 1], [breaker.state, woken.size]
    end

    test "open breakers are listed with their age and their time left" do
      assert_empty @registry.open
      fail_twice(of("orders"))
      @clock.advance(5_000)
      assert_equal [{topics: ["orders"], cause: "KeyError", error: "KeyError", held_ms: 5_000, left_ms: 295_000}], @registry.open
      @registry.close_by_hand
      assert_empty @registry.open
    end

    test "of many threads that fail and succeed at once each change is announced once, and the last state counts" do
      breaker = of("orders")
      workers = Array.new(4) do |worker|
        Thread.new do
          500.times do |index|
            record = ["orders", worker, index]
            number = breaker.number_records(1, Struct.new(:sequence).new(record))
            breaker.failed(attempt(record, number), 0)
            breaker.succeeded(fresh: 1, completed: true, probe: nil, now: 0) if index % 3 == 0
            breaker.to_h
          end
        end
      end
      workers.each(&:join)
      names = []
      while (name, = breaker.take_event)
        names << name
      end
      assert_equal names, %w[breaker.opened breaker.closed].cycle.first(names.size)
      assert_equal names.size.odd?, !breaker.closed?
    end

    # Inserting into a Hash calls `hash` of its keys, where Ruby may switch threads: two at once read freed memory (SIGSEGV).
    class Sequence
      def self.watch = @inside = @most = 0
      def self.most = @most

      def self.pass
        @most = [@most, @inside += 1].max
        Thread.pass
        @inside -= 1
      end

      def hash = self.class.pass && 0
      def eql?(other) = equal?(other)
    end

    test "threads that begin records of new sequences insert them one at a time" do
      breaker = of("orders", breaker: breaking(after: 200, share: 1))
      Sequence.watch
      workers = Array.new(4) { Thread.new { 40.times { breaker.number_records(1, Struct.new(:sequence).new(Sequence.new)) } } }
      workers.each(&:join)
      assert_equal 1, Sequence.most
    end
  end
end
