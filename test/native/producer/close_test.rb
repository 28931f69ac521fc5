# frozen_string_literal: true

require "test_helper"
require "support/native_producing"
require "support/without_threads"

class NativeProducerCloseTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing
  include Penstock::TestSupport::WithoutThreads

  test "close delivers queued messages" do
    native = producer(linger_ms: 200)
    deliveries = Array.new(100) { dispatch(native) }

    assert_equal 0, native.close(10_000)
    assert_equal [0], deliveries.map(&:number).uniq
    assert_equal :closed, native.state
  end

  test "close respects its time limit when no broker answers, and every delivery is resolved by then" do
    native = stranded_producer
    deliveries = Array.new(100) { dispatch(native) }

    assert_operator seconds { native.close(300) }, :<, limit(5)
    assert deliveries.all?(&:done?)
    assert_equal [:purge_queue], deliveries.map { |delivery| delivery.error.code }.uniq
    assert_equal [:not], deliveries.map(&:persisted).uniq
  end

  test "a message that was sent and not answered ends as possibly persisted" do
    cluster.set_rtt(1, 60_000)
    native = producer(linger_ms: 0)
    delivery = dispatch(native)

    native.close(1_000)
    assert_predicate delivery, :done?
    assert_includes %i[purge_inflight purge_queue], delivery.error.code
  end

  test "[OAuth refresh] a close that waits for messages takes the token that they need; afterwards there is none" do
    native = stranded_producer(security_protocol: "SASL_PLAINTEXT", sasl_mechanisms: "OAUTHBEARER")
    dispatch(native)
    give = -> { native.set_token("a.b.c", (Time.now.to_f * 1_000).to_i + 60_000, "me", nil) }
    close = Thread.new { native.close(limit(2) * 1_000) }
    wait_until(5, "the close") { native.state == :closing && close.status == "sleep" }

    10.times { assert_nil give.call }
    assert_nil native.set_token_failure("none today")
    assert_equal :closing, native.state
    close.join
    [give, -> { native.set_token_failure("late") }].each { |call| assert_raises(Penstock::HandleClosedError, &call) }
  end

  test "close wakes threads that wait for a delivery" do
    native = stranded_producer
    delivery = dispatch(native)
    threads = Array.new(4) { Thread.new { native.sync_wait(delivery, nil) } }
    wait_until(5, "waiting threads") { threads.all? { |thread| thread.status == "sleep" } }
    native.close(100)

    assert_equal [true] * 4, threads.map(&:value)
  end

  test "close wakes threads that flush or wait for room" do
    native = stranded_producer
    dispatch(native)
    calls = [-> { native.flush(nil) }, -> { native.wait_for_room(native.ticket, 60_000) }]
    threads = calls.map do |call|
      Thread.new do
        call.call
      rescue Penstock::HandleClosedError => error
        error
      end
    end
    wait_until(5, "waiting threads") { threads.all? { |thread| thread.status == "sleep" } }

    assert_operator seconds { native.close(200) }, :<, limit(5)
    threads.each { |thread| assert_instance_of Penstock::HandleClosedError, thread.value }
  end

  test "close may be called again and by many threads at the same time" do
    native = stranded_producer
    dispatch(native)
    threads = Array.new(6) { Thread.new { native.close(300) } }

    threads.each(&:value)
    assert_equal 0, native.close(0)
    assert_predicate native, :closed?
  end

  test "a call that is inside at the deadline is waited for in the background" do
    native = stranded_producer
    query = Thread.new { native.query_partitions("things", 1_500) }
    query.report_on_exception = false
    wait_until(5, "a query") { query.status == "sleep" }
    native.close(50)

    assert_raises(Penstock::KafkaError) { query.value }
    wait_until(10, "the end in the background") { native.state == :closed }
    assert_equal :closed, native.state
  end

  # The block gets a producer with a call inside, and closes it. On a busy machine the call may have ended by then: then
  # another one is made.
  LATE_CLOSE = <<~RUBY
    require "penstock/native/producer"
    def late_close
      10.times do
        native = Penstock::Native::Producer.new({"bootstrap.servers" => "127.0.0.1:1"})
        native.open_topic("things")
        delivery = native.dispatch({topic: "things", payload: "x"})
        query = Thread.new { native.query_partitions("things", 1_500) rescue 0 }
        wait_until { query.status == "sleep" || !query.alive? }
        ENV["NO_THREADS"] = "1"
        inside = yield native, query
        print [native.state, delivery.done?, native.close(0)].inspect if inside
        ENV.delete("NO_THREADS")
        query.join
        return if inside
      end
    end
  RUBY

  test "if no thread can be created for that, the close itself waits: every delivery is resolved" do
    assert_equal "[:closed, true, 0]", without_threads(LATE_CLOSE + <<~RUBY)
      late_close { |native, _| native.close(50) && ENV.delete("REFUSED") }
    RUBY
  end

  test "a close interrupted during its own wait still finishes, and then raises" do
    assert_equal "[:closed, true, 0]", without_threads(LATE_CLOSE + <<~RUBY)
      late_close do |native, query|
        closer = Thread.new { native.close(50) && :not_interrupted }
        wait_until { ENV["REFUSED"] || !closer.alive? }
        waits = ENV.delete("REFUSED") && closer.alive? && query.alive?
        closer.kill.join
        waits && closer.value.nil?
      end
    RUBY
  end

  test "an interrupted close still finishes" do
    native = stranded_producer
    delivery = dispatch(native)
    thread = Thread.new { native.close(60_000) }
    wait_until(5, "a closing thread") { native.state == :closing && thread.status == "sleep" }
    thread.kill.join

    assert_equal :closed, native.state
    assert_predicate delivery, :done?
  end

  test "a closed producer refuses every call, and its deliveries can still be read" do
    native = producer
    delivery = dispatch(native)
    native.close(10_000)

    assert_nil dispatch(native)
    [-> { native.flush(1) }, -> { native.purge }, -> { native.queue_size }, -> { native.name }, -> { native.ticket },
      -> { native.produce("things", "x") }, -> { native.dispatch_slice([], 0, true, []) }].each do |call|
      assert_raises(Penstock::HandleClosedError) { call.call }
    end
    assert delivery.wait(0)
    assert_equal "things", delivery.topic
  end

  test "remaining reports can be taken after a close, then there are none" do
    native = producer
    native.want(Penstock::Native::Producer::WANT_DELIVERED)
    dispatch(native)
    native.close(10_000)

    assert native.wait_for_reports(0)
    assert_equal 1, native.take_reports(10).size
    refute native.wait_for_reports(0)
  end

  test "purge ends queued messages with an error that names the purge" do
    native = stranded_producer
    delivery = dispatch(native)
    native.purge

    assert delivery.wait(10_000)
    assert_equal :purge_queue, delivery.error.code
    assert native.flush(10_000)
    assert_equal 0, native.queue_size
  end
end
