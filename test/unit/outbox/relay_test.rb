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

  test "a relay runs on a thread until it is stopped, sends new rows, and reports its start and end" do
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

  test "a relay's queries aren't logged, what is logged meanwhile at level info is, and other queries are again" do
    written = StringIO.new
    before, ActiveRecord::Base.logger = ActiveRecord::Base.logger, ActiveSupport::Logger.new(written)
    put("1")
    assert_includes written.string, "INSERT INTO"
    written.truncate(written.rewind)
    @log.at_send = ->(_message) { ActiveRecord::Base.logger.info("sent") }
    relay.drain
    @store.lag
    assert_equal "sent\n", written.string
    put("2")

    assert_includes written.string, "INSERT INTO"
  ensure
    ActiveRecord::Base.logger = before
  end

  test "a commit wakes a relay of the same process, without waiting for the next poll" do
    use(poll_interval: 3_600_000)
    start
    @writer.relay = @running
    wait_until(40, "its first look") { names.include?("outbox.relay_started") && idle? }
    put("1")
    wait_until(40, "the message") { @log.payloads == ["1"] }

    assert_predicate @running, :running?
  end

  test "an error of the cluster is reported, and the relay continues after a wait" do
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

  test "however long rows have been stuck, a new row waits no longer than a parked one would" do
    @log.answer = ->(_message) { refused(:msg_timed_out) }
    put("1")
    one = relay
    pauses = Array.new(20) { one.send(:attempt) }

    assert_equal [500, 5_000], pauses.minmax
    assert_equal (1..10).to_a, troubles.map { |event| event[:attempt] }
    assert_equal({"1" => "ready"}, states)
  end

  test "an error of the database is reported, and the relay continues after a wait" do
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

  test "a stopped relay starts nothing new, and waits for messages in flight" do
    one = relay
    put("1", "2")
    @log.at_send = ->(_message) { one.stop! }
    one.run

    assert_equal ["1"], @log.payloads
    assert_equal({"2" => "ready"}, states)
  end

  test "messages not acknowledged within the time to stop are abandoned, and stay in the table" do
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

  test "stuck rows at the head of the table are reported as one error, then as parked rows" do
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

  test "the lag is reported at each interval while there is a listener" do
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

  test "a producer whose client had a fatal error is replaced" do
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

  test "a transactional producer is refused" do
    @log.define_singleton_method(:transactional?) { true }
    put("1")
    error = assert_raises(Penstock::ConfigurationError) { relay.run }

    assert_includes error.message, "transactional.id"
    assert_equal({"1" => "ready"}, states)
  end

  test "a producer that can't be used is an error when the relay starts, before there is a row" do
    one = Penstock::Outbox::Relay.new(@store, @settings, monitor: monitor, clock: @clock) do
      raise Penstock::ConfigurationError, "no brokers"
    end

    assert_raises(Penstock::ConfigurationError) { one.start }
    refute_predicate one, :running?
    assert_empty names
  end

  test "the error that ends the thread is reported, and raised by stop" do
    @store.define_singleton_method(:head) { |_skip| raise Penstock::ConfigurationError, "another database" }
    start
    wait_until(40, "its end") { !@running.running? }

    assert_equal [Penstock::ConfigurationError], troubles.map { |event| event[:error].class }
    assert_raises(Penstock::ConfigurationError) { @running.stop }
    @running = nil
  end

  test "an error that isn't a StandardError ends the thread, is reported too, and is raised by stop" do
    @log.at_send = ->(_message) { raise NotImplementedError, "middleware" }
    put("1")
    start
    wait_until(40, "its end") { !@running.running? }

    assert_equal [NotImplementedError], troubles.map { |event| event[:error].class }
    assert_raises(NotImplementedError) { @running.stop }
    assert_equal({"1" => "ready"}, states)
    @running = nil
  end

  test "an outage of the middleware's service changes no row; a row that only it fails for is parked, uncounted, never set aside" do
    use(on_refusal: :set_aside, max_attempts: 1)
    @log.at_send = ->(_message) { raise Errno::ECONNREFUSED, "key service" }
    put("1")
    assert_raises(Errno::ECONNREFUSED) { relay.drain }
    assert_equal({"1" => "ready"}, states)
    @log.at_send = ->(message) { raise KeyError, "no key" if message[:payload] == "1" }
    put("2", key: "other")
    relay.drain

    assert_equal({"1" => "parked"}, states)
    assert_equal 0, told("outbox.parked").last[:attempt]
  end

  test "a relay can't be started twice" do
    use(poll_interval: 1)
    start
    assert_raises(Penstock::ConfigurationError) { @running.start }
  end

  test "log lines name the stuck rows, and what to do" do
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

  # As if the interval had passed.
  def prodded(what)
    wait_until(40, what) do
      @running.wake
      yield
    end
  end

  # Whether it waits on its condition variable.
  def idle? = @running.instance_variable_get(:@thread).status == "sleep"

  def names = @events.map(&:id)

  def troubles = told("error.occurred")
end
