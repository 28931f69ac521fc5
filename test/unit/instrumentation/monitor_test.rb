# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"

class MonitorTest < Penstock::TestCase
  class Listener
    attr_reader :heard

    def initialize
      @heard = []
    end

    def on_app_running(event)
      @heard << event.id
    end

    def on_consumer_consumed(_event)
      raise "broken"
    end
  end

  def setup
    @monitor = Penstock::Instrumentation::Monitor.new
  end

  test "a block receives its event with the payload" do
    heard = nil
    @monitor.subscribe("app.running") { |event| heard = event }
    @monitor.instrument("app.running", server_id: "a")

    assert_equal "app.running", heard.id
    assert_equal "a", heard[:server_id]
    assert_equal({server_id: "a"}, heard.payload)
  end

  test "a listener that takes over a second is reported with its place; the others are not blamed" do
    told, time = [], 0.0
    @monitor.subscribe("listener.slow") { |event| told << event.payload }
    slow = ->(_event) { time += 1_500 }
    @monitor.subscribe("app.running", &slow)
    @monitor.subscribe("app.running") { |_event| time += 900 }
    Penstock::Clock.stub(:milliseconds, -> { time }) { 11.times { @monitor.instrument("app.running", server_id: "a") } }

    assert_equal [["app.running", 1_500.0]] * 2, told.map { |payload| payload.values_at(:inside, :time) }
    assert_equal ["block (#{slow.source_location.join(":")})"], told.map { |payload| payload[:listener] }.uniq
  end

  test "a listener of slow listeners may be slow itself" do
    time = 0.0
    @monitor.subscribe("listener.slow") { |_event| time += 5_000 }
    @monitor.subscribe("app.running") { |_event| time += 1_500 }
    calls = 0
    @monitor.subscribe("app.running") { |_event| calls += 1 }
    Penstock::Clock.stub(:milliseconds, -> { time }) { @monitor.instrument("app.running", server_id: "a") }

    assert_equal 1, calls
    assert_in_delta 6_500, time
  end

  test "a listener object receives the events it has methods for" do
    listener = @monitor.subscribe(Listener.new)
    @monitor.instrument("app.running", server_id: "a")
    @monitor.instrument("app.quiet", server_id: "a")

    assert_equal ["app.running"], listener.heard
  end

  test "a listener with a method for an event of Karafka that doesn't exist here is refused" do
    listener = Class.new(Listener) { def on_connection_listener_fetch_loop_received(_event) = nil }.new
    error = assert_raises(Penstock::UnknownEventError) { @monitor.subscribe(listener) }

    assert_match(/\Athere is no event "connection.listener.fetch_loop.received". There is no polling interval/, error.message)
    @monitor.register_event("connection.listener.fetch_loop.received")
    assert_same listener, @monitor.subscribe(listener)
  end

  test "listeners exist without an application" do
    assert_kind_of Class, Penstock::Instrumentation::LoggerListener
    assert_kind_of Class, Penstock::Instrumentation::ProctitleListener
    error = assert_raises(NameError) { Penstock::Instrumentation::Vendors }
    assert_match(/there is no Penstock::Instrumentation::Vendors: Penstock::Monitors::StatsD/, error.message)
    assert_match(/uninitialized constant/, assert_raises(NameError) { Penstock::Instrumentation::Nobody }.message)
  end

  test "a block event is published after the block with the time it took, and returns what the block returns" do
    time = nil
    @monitor.subscribe("consumer.consumed") { |event| time = event[:time] }

    assert_equal 42, @monitor.instrument("consumer.consumed", {}) { 42 }
    assert_kind_of Float, time
  end

  test "a block also runs without listeners" do
    assert_equal 42, @monitor.instrument("consumer.consumed") { 42 }
  end

  test "a block that raises is not published" do
    heard = []
    @monitor.subscribe("consumer.consumed") { |event| heard << event }

    assert_raises(IOError) { @monitor.instrument("consumer.consumed") { raise IOError } }
    assert_empty heard
  end

  test "an unsubscribed listener receives nothing" do
    heard = []
    block = @monitor.subscribe("app.running") { heard << :block }
    listener = @monitor.subscribe(Listener.new)
    @monitor.unsubscribe(block)
    @monitor.unsubscribe(listener)
    @monitor.instrument("app.running", server_id: "a")

    assert_empty heard + listener.heard
    refute @monitor.subscribed?("app.running")
  end

  test "unknown events raise where they are published, subscribed to and looked up" do
    assert_raises(Penstock::UnknownEventError) { @monitor.instrument("app.runing") }
    assert_raises(Penstock::UnknownEventError) { @monitor.subscribe("app.runing") { nil } }
    assert_raises(Penstock::UnknownEventError) { @monitor.subscribed?("app.runing") }
  end

  test "a name without a block is refused" do
    assert_raises(ArgumentError) { @monitor.subscribe("app.running") }
  end

  test "[custom events] register, instrument, subscribe" do
    heard = []
    @monitor.register_event("billing.charged", :amount)
    @monitor.subscribe("billing.charged") { |event| heard << event[:amount] }
    @monitor.instrument("billing.charged", amount: 7)

    assert_equal [7], heard
    assert_includes @monitor.available_events, "billing.charged"
  end

  test "[Callback exception] an error in a listener becomes an error event, and the others are called" do
    errors = []
    heard = []
    @monitor.subscribe("error.occurred") { |event| errors << event }
    @monitor.subscribe(Listener.new)
    @monitor.subscribe("consumer.consumed") { heard << :other }
    @monitor.instrument("consumer.consumed")

    assert_equal [:other], heard
    assert_equal ["instrumentation.listener.error"], errors.map { |event| event[:type] }
    assert_equal "broken", errors.first[:error].message
    assert_equal "consumer.consumed", errors.first[:inside]
    assert_match(/Listener#on_consumer_consumed/, errors.first[:listener])
  end

  test "a listener that always fails is reported at its first, tenth, hundredth failure" do
    failures = []
    @monitor.subscribe("error.occurred") { |event| failures << event[:failures] }
    @monitor.subscribe(Listener.new)
    150.times { @monitor.instrument("consumer.consumed") }

    assert_equal [1, 10, 100], failures
  end

  test "a failing listener of errors doesn't recurse" do
    @monitor.subscribe("error.occurred") { raise "broken too" }
    _out, err = capture_io { @monitor.instrument("error.occurred", type: "x", error: IOError.new) }

    assert_match(/penstock: block .* raised in error.occurred: RuntimeError: broken too/, err)
  end

  test "a failing listener of errors is one bounded line on standard error, without control characters" do
    @monitor.subscribe("error.occurred") { raise "a\e[2J\n#{"x" * 1_000_000}" }
    _out, err = capture_io { @monitor.instrument("error.occurred", type: "x", error: IOError.new) }

    assert_match(/RuntimeError: a\\e\[2J\\nx/, err)
    assert_operator err.bytesize, :<, 4_000
    assert_equal 1, err.lines.size
  end

  test "a strict monitor refuses payloads with undeclared or missing keys" do
    strict = Penstock::Instrumentation::Monitor.new(strict: true)

    assert_nil strict.instrument("app.running", server_id: "a")
    error = assert_raises(Penstock::InternalError) { strict.instrument("app.running", server: "a") }
    assert_equal "app.running: the payload has no [:server_id] and has undeclared [:server]", error.message
  end

  test "subscribing while others publish loses no subscription" do
    threads = Array.new(4) { Thread.new { 50.times { @monitor.subscribe("app.quiet") { nil } } } }
    100.times { @monitor.instrument("app.quiet", server_id: "a") }
    threads.each(&:join)
    count = 0
    @monitor.subscribe("app.quiet") { count += 1 }
    @monitor.instrument("app.quiet", server_id: "a")

    assert_equal 1, count
  end
end
