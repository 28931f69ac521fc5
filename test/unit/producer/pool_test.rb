# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/pool"
require "penstock/testing/buffered_client"

module Penstock
  # A pool whose producers store the messages they are given.
  class ProducerPoolTest < TestCase
    KAFKA = {"bootstrap.servers": "127.0.0.1:1"}.freeze

    def pool(**options)
      @pool ||= new_pool(**options)
    end

    def new_pool(transactional: true, **options)
      @seen = []
      monitor = Instrumentation::Monitor.new(strict: true)
      %w[created reload reloaded shutdown].each do |name|
        monitor.subscribe("connection_pool.#{name}") { |event| @seen << event.id }
      end
      ProducerPool.new(size: 2, monitor: monitor, timeout: 50, **options) do |config, index|
        age = @age
        @on_make&.call
        raise ArgumentError, "no settings" if @failing == true || @failing == index

        config.kafka = transactional ? {**KAFKA, "transactional.id": "shop-#{index}"} : KAFKA
        config.kafka[:"client.id"] = age if age
        config.client_class = Testing::BufferedClient
      end
    end

    def teardown
      @pool&.shutdown(force: true)
      super
    end

    def ids
      @pool.instance_variable_get(:@slots).producers.map { |producer| producer.config.kafka[:"transactional.id"] }
    end

    # Runs the block while threads have a producer each.
    def while_lent(count)
      pool
      gate = Queue.new
      inside = Queue.new
      threads = Array.new(count) { Thread.new { pool.with { |producer| (inside << producer) && gate.pop } } }
      producers = Array.new(count) { inside.pop }
      yield producers
    ensure
      count.times { gate << nil }
      threads.each(&:join)
    end

    test "a method of a process-wide pool is refused with a hint how to create a pool" do
      %i[setup with transaction stats shutdown].each do |name|
        error = assert_raises(NoMethodError) { ProducerPool.public_send(name) }
        assert_match(/no ProducerPool.#{name}, because there is no default pool: create one/, error.message)
      end
      assert_match(/undefined method/, assert_raises(NoMethodError) { ProducerPool.nobody }.message)
    end

    test "[Pool indices] each producer keeps its index, from 1, and its transactional id, also after a reload" do
      pool
      assert_equal %w[shop-1 shop-2], ids
      pool.reload

      assert_equal %w[shop-1 shop-2], ids
      assert_equal %w[connection_pool.created connection_pool.reload connection_pool.reloaded], @seen
    end

    # Raises an error in the thread when a method of the pool's slots returns, as the end of a time limit may.
    def interrupting(method)
      trace = TracePoint.new(:return) do |point|
        next unless point.method_id == method && point.self.is_a?(ProducerPool::Slots)
        trace.disable
        Thread.current.raise(Interrupted)
      end
      trace.enable(target_thread: Thread.current) { pool.with { nil } }
    ensure
      trace.disable
    end

    test "an interrupt loses no producer, whenever it comes" do
      pool
      %i[take take_locked await give_back renew_slot free_slot].each do |method|
        assert_raises(Interrupted) { interrupting(method) }
        assert_equal({size: 2, available: 2, waiting: 0}, @pool.stats, method)
      end
    end

    test "two producers with one transactional id are refused when the pool is created" do
      error = assert_raises(ConfigurationError) do
        ProducerPool.new(size: 2) { |config| config.kafka = {**KAFKA, "transactional.id": "twin"} }
      end
      assert_match(/"twin".*index/, error.message)
    end

    test "a producer's configuration errors are raised when the pool is created" do
      assert_raises(ConfigurationError) { ProducerPool.new { |config| config.kafka = {} } }
      assert_raises(ArgumentError) { ProducerPool.new }
      assert_raises(ArgumentError) { ProducerPool.new(size: 0) { |config| config.kafka = KAFKA } }
    end

    test "a producer is lent to one thread at a time, and a fiber gets the same one again" do
      while_lent(2) do |producers|
        assert_equal 2, producers.uniq.size
        assert_equal({size: 2, available: 0, waiting: 0}, pool.stats)
      end
      pool.with { |outer| pool.with { |inner| assert_same outer, inner } }
      assert_equal 2, pool.available
    end

    test "a caller that finds no free producer in time gets PoolTimeoutError" do
      while_lent(2) do
        error = assert_raises(PoolTimeoutError) { pool.with { flunk } }
        assert_match(/none of the pool's 2 producers was free within 50 ms/, error.message)
      end
    end

    test "a waiting caller gets the first producer that is returned" do
      pool(timeout: 30_000)
      waiter = nil
      while_lent(2) do
        waiter = Thread.new { pool.with { :got_one } }
        wait_until(20, "somebody who waits") { pool.stats[:waiting] == 1 }
      end
      assert_equal :got_one, waiter.value
    end

    test "a transaction has its own producer and returns the block's value" do
      client = nil
      answer = pool.transaction do |producer, transaction|
        client = producer.client
        transaction.produce_async(topic: "orders", payload: "1")
        producer.produce_many_async([{topic: "orders", payload: "2"}])
        :answer
      end

      assert_equal :answer, answer
      assert_equal %w[1 2], client.messages_for(:orders).map { |message| message[:payload] }
      assert_nil(pool.transaction { |producer, transaction|
        producer.produce_async(topic: "orders", payload: "3") && transaction.abort
      })
      assert_equal 2, client.messages.size
    end

    test "[Pool shutdown] running transactions finish, and the event is emitted once" do
      producers = []
      begun = Queue.new
      pool
      worker = Thread.new do
        pool.with do |producer|
          producers << producer
          begun << 1
          wait_until(20, "a pool that closes") { pool.closed? }
          producer.produce_sync(topic: "orders", payload: "late").outcome
        end
      end
      begun.pop
      3.times { pool.shutdown }

      assert_equal :delivered, worker.value
      assert_predicate producers.first, :closed?
      assert_equal 1, @seen.count("connection_pool.shutdown")
      assert_raises(ProducerClosedError) { pool.with { flunk } }
      assert_raises(ProducerClosedError) { pool.reload }
    end

    test "a forced shutdown closes lent producers" do
      while_lent(1) do |(producer)|
        pool.shutdown(force: true)
        assert_raises(ProducerClosedError) { producer.produce_async(topic: "orders", payload: "x") }
      end
    end

    test "a reload replaces a lent producer when it is returned" do
      old = fresh = nil
      while_lent(1) do |(producer)|
        old = producer
        pool.reload(timeout_ms: 0)
        refute_predicate old, :closed?
        fresh = pool.with { |other| other }
      end

      refute_same old, fresh
      assert_predicate old, :closed?
      assert_equal %w[shop-1 shop-2], ids
      assert_equal 2, pool.available
    end

    test "a reload whose block raises keeps the producers that it could not replace" do
      pool
      before = @pool.instance_variable_get(:@slots).producers
      @failing = 1
      error = assert_raises(ArgumentError) { pool.reload(timeout_ms: 0) }

      assert_equal "no settings", error.message
      assert_equal({size: 2, available: 2, waiting: 0}, pool.stats)
      assert_equal [true, false], @pool.instance_variable_get(:@slots).producers.zip(before).map { |now, old| now.equal?(old) }
      assert_equal [false, true], before.map(&:closed?)
      pool.with { |producer| producer.produce_sync(topic: "orders", payload: "1") }
    end

    test "a returned producer that can't be replaced stays, and the caller's block returns its value" do
      told = []
      pool.monitor.subscribe("error.occurred") { |event| told << event.payload.values_at(:type, :error).map(&:to_s) }
      answer = pool.with do
        pool.reload(timeout_ms: 0)
        @failing = true
        :answer
      end

      assert_equal [:answer, 2], [answer, pool.available]
      assert_equal [["connection_pool.reload.error", "no settings"]], told
      pool.shutdown
      assert_predicate pool, :closed?
    end

    test "an interrupted reload returns the producers it holds" do
      pool
      reload = Thread.new do
        @on_make = -> { Thread.current.kill }
        pool.reload
      end
      assert reload.join(40)

      assert_equal 2, pool.available
    end

    # Reloads; the block runs while one of the old producers is being closed, that is during the reload's first replacement.
    def while_reload_closes
      gate = Queue.new
      closing = Queue.new
      @pool.instance_variable_get(:@slots).producers.each do |producer|
        producer.define_singleton_method(:close) { |**options| (closing << 1) && gate.pop && super(**options) }
      end
      reload = Thread.new { pool.reload }
      closing.pop
      yield(-> { 2.times { gate << 1 } })
      reload.value
    ensure
      gate.close
    end

    def ages = @pool.instance_variable_get(:@slots).producers.map { |producer| producer.config.kafka[:"client.id"] }

    test "a reload during another reload's close replaces the new producers too" do
      @age = "old"
      pool
      @age = "outdated"
      while_reload_closes do |go_on|
        @age = "new"
        second = Thread.new { pool.reload }
        wait_until(40, "the second reload to wait") { pool.stats[:waiting] == 1 }
        go_on.call
        second.value

        assert_equal %w[new new], ages
      end
      assert_equal 2, pool.available
    end

    test "a second reload with no time, or a forced one, isn't undone by the first" do
      [{timeout_ms: 0}, {force: true}].each do |options|
        @age = "old"
        @pool = new_pool
        @age = "outdated"
        while_reload_closes do |go_on|
          @age = "new"
          go_on.call if options[:force]
          pool.reload(**options)
          go_on.call
        end
        assert_equal %w[new new], ages
        @pool.shutdown
      end
    end

    test "a producer created during a forced reload is not kept" do
      @age = "old"
      pool
      making = Queue.new
      gate = Queue.new
      @on_make = -> { (making << 1) && gate.pop }
      first = Thread.new { pool.reload }
      making.pop
      @on_make = nil
      @age = "new"
      pool.reload(force: true)
      gate << 1
      first.join

      assert_equal %w[new new], ages
    ensure
      gate.close
    end

    test "a block without an index parameter gets the configuration only" do
      pool = ProducerPool.new(size: 1) { |config| config.kafka = KAFKA }
      pool.shutdown
      assert_predicate pool, :closed?
    end

    test "the class is loaded on demand" do
      assert_same ProducerPool, Penstock.const_get(:ProducerPool)
      assert_match(/2 of 2 free/, pool.inspect)
    end
  end
end
