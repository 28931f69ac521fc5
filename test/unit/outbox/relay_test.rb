# frozen_string_literal: true

require "test_helper"
require "stringio"
require "penstock/instrumentation/logger_listener"
require "support/outbox"

class OutboxRelayTest < Penstock::TestCase
  include Penstock::TestSupport::Outbox

  extend Penstock::TestSupport::Outbox::OnSQLite

  def teardown
    @running&.stop
    super
  end

  test "it runs on a thread until it is stopped, sends what comes, and tells its beginning and end" do
    use(poll_interval: 1)
    start
    put("1")
    wait_until(40, "the message") { @log.payloads == ["1"] }
    put("2")
    wait_until(40, "the next") { @log.payloads == %w[1 2] }

    assert_predicate @running, :running?
    assert @running.stop
    refute_predicate @running, :running?
    assert_equal %w[outbox.relay_started outbox.relay_stopped], names & %w[outbox.relay_started outbox.relay_stopped]
    assert_equal 2, told("outbox.relayed").sum { |event| event[:messages_count] }
  end

  test "one of the same process is told by a commit, and needn't look again by itself" do
    use(poll_interval: 3_600_000)
    start
    @writer.relay = @running
    wait_until(40, "its first look") { names.include?("outbox.relay_started") && idle? }
    put("1")
    wait_until(40, "the message") { @log.payloads == ["1"] }

    assert_predicate @running, :running?
  end

  test "trouble with the cluster is told and waited for; then it goes on" do
    use(poll_interval: 1)
    @log.answer = ->(_message) { refused(:msg_timed_out) }
    put("1")
    start
    prodded("two troubles") { troubles.size >= 2 }
    @log.answer = ->(_message) {}
    prodded("the message") { @log.payloads == ["1"] }

    assert_equal [1, 2], troubles.map { |event| event[:attempt] }.first(2)
    assert_equal "outbox.relay.error", troubles.first[:type]
  end

  test "however long something is stuck, a row that is put in waits no longer than a parked one would" do
    @log.answer = ->(_message) { refused(:msg_timed_out) }
    put("1")
    one = relay
    pauses = Array.new(20) { one.send(:attempt) }

    assert_equal [500, 5_000], pauses.minmax
    assert_equal (1..10).to_a, troubles.map { |event| event[:attempt] }
    assert_equal({"1" => "ready"}, states)
  end

  test "trouble with the database is told and waited for; then it goes on" do
    use(poll_interval: 1)
    failures = 2
    head = @store.method(:head)
    @store.define_singleton_method(:head) do |skip|
      ((failures -= 1) >= 0) ? raise(ActiveRecord::ConnectionFailed, "gone") : head.call(skip)
    end
    put("1")
    start
    prodded("the message") { @log.payloads == ["1"] }

    assert_equal %w[gone gone], troubles.map { |event| event[:error].message }
  end

  test "told to stop it starts nothing new, and waits for what is in flight" do
    one = relay
    put("1", "2")
    @log.at_send = ->(_message) { one.stop! }
    one.run

    assert_equal ["1"], @log.payloads
    assert_equal({"2" => "ready"}, states)
  end

  test "what isn't acknowledged when the time to stop is over is left, and stays in the table" do
    one = relay
    put("1")
    put("2", key: "other")
    waits = 0
    clock = @clock
    @log.define_singleton_method(:decide) do |message|
      next super(message) if message[:payload] == "2"
      one.stop! if (waits += 1) == 1
      clock.pass(31_000)
      raise Penstock::WaitTimeoutError, "still nothing"
    end
    at_purge = []
    store = @store
    @log.define_singleton_method(:purge) { at_purge << store.exclusively { flunk } }
    one.run

    assert_equal %w[1 2], states.keys
    assert_empty @log.payloads
    assert_equal [:busy], at_purge, "what is queued is thrown away while nobody else can have a turn"
  end

  test "what the head of the table is stuck at is told as trouble once, then as parked rows" do
    use(poll_interval: 1, batch_size: 1)
    @log.answer = ->(message) { refused(:msg_timed_out) if message[:key] == "dead" }
    put("1", key: "dead")
    put("2")
    start
    prodded("the healthy key") { @log.payloads == ["2"] }
    prodded("a parked row") { told("outbox.parked").any? }

    assert_equal [1, {"1" => "parked"}], [troubles.size, states]
    assert_equal [[0, 5_000]], told("outbox.parked").map { |event| event.payload.values_at(:attempt, :retry_in_ms) }
  end

  test "the lag is told while somebody listens, each interval" do
    use(poll_interval: 1, lag_interval: 60_000)
    @log.answer = ->(message) { refused if message[:payload] == "poison" }
    put("poison", "1")
    start
    wait_until(40, "the lag") { told("outbox.lag").any? }
    lag = told("outbox.lag").first

    assert_equal ["penstock_outbox", 2, 0, 1, 1, 0],
      lag.payload.values_at(:table, :count, :oldest_age_ms, :parked, :held, :aside)
    @clock.pass(60_000)
    wait_until(40, "it again") { told("outbox.lag").size == 2 }
  end

  test "a producer whose client has ended for good is replaced" do
    made = []
    test = self
    one = Penstock::Outbox::Relay.new(@store, @settings, monitor: monitor, clock: @clock) do
      Log.new.tap do |log|
        broken = made.empty?
        log.define_singleton_method(:fatal_error) { broken && [1, "fenced"] }
        log.answer = ->(_message) { broken ? test.refused(:fatal) : nil }
        made << log
      end
    end
    put("1")
    assert_raises(Penstock::KafkaError) { one.drain }
    one.drain

    assert_equal [[], ["1"]], made.map(&:payloads)
  end

  test "a transactional producer is none for a relay" do
    @log.define_singleton_method(:transactional?) { true }
    put("1")
    error = assert_raises(Penstock::ConfigurationError) { relay.run }

    assert_includes error.message, "transactional.id"
    assert_equal({"1" => "ready"}, states)
  end

  test "one that can't be used is told to who starts the relay, before there is a row" do
    one = Penstock::Outbox::Relay.new(@store, @settings, monitor: monitor, clock: @clock) do
      raise Penstock::ConfigurationError, "no brokers"
    end

    assert_raises(Penstock::ConfigurationError) { one.start }
    refute_predicate one, :running?
    assert_empty names
  end

  test "what ends the thread is told, and raised to who stops it" do
    @store.define_singleton_method(:head) { |_skip| raise Penstock::ConfigurationError, "another database" }
    start
    wait_until(40, "its end") { !@running.running? }

    assert_equal [Penstock::ConfigurationError], troubles.map { |event| event[:error].class }
    assert_raises(Penstock::ConfigurationError) { @running.stop }
    @running = nil
  end

  test "a relay has one life" do
    use(poll_interval: 1)
    start
    assert_raises(Penstock::ConfigurationError) { @running.start }
  end

  test "its lines say what is stuck, and the way out" do
    lines = StringIO.new
    monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(Logger.new(lines, level: Logger::DEBUG)))
    use(on_refusal: :set_aside, max_attempts: 2)
    @log.answer = ->(_message) { refused }
    12.times { |number| put("p#{number}", key: number.to_s) }
    one = relay
    one.drain
    @clock.pass(1_000)
    one.drain

    assert_match(/rows [\d, ]+ and 2 more for topic orders can't be delivered for now .*retried in 1\.0 s/, lines.string)
    assert_match(/set aside .*`penstock outbox retry`/, lines.string)
  end

  private

  def start
    @running = relay.start
  end

  # As if time had passed.
  def prodded(what)
    wait_until(40, what) do
      @running.wake
      yield
    end
  end

  # It waits on its condition.
  def idle? = @running.instance_variable_get(:@thread).status == "sleep"

  def names = @events.map(&:id)

  def troubles = told("error.occurred")
end
