# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "penstock/instrumentation/monitor"
require "penstock/instrumentation/logger_listener"
require "penstock/processing/failure/breaker"
require "support/log_lines"

class LoggerListenerTest < Penstock::TestCase
  # Events without a line: parts of others, or reported by the event that follows.
  SILENT = %w[app.initializing worker.process worker.processed worker.completed connection.listener.pending
    connection.listener.starting connection.listener.running connection.listener.quieting connection.listener.quiet
    connection.listener.stopping connection.listener.stopped connection.listener.before_fetch_loop
    connection.listener.fetch_loop connection.listener.after_fetch_loop client.events_poll statistics.emitted
    consumer.initialize consumer.initialized consumer.revoke consumer.eof consumer.tick consumer.shutting_down consumer.wrap
    consumer.wrapped consumer.before_schedule_consume consumer.before_schedule_revoked consumer.before_schedule_eofed
    consumer.before_schedule_shutdown rebalance.partitions_assign rebalance.partitions_revoke producer.closing
    process_pool.after_fork process_pool.before_exit app.supervising app.before_warmup
    swarm.node.after_fork swarm.mold.after_fork swarm.manager.before_fork message.acknowledged message.purged
    message.buffered messages.buffered producer.reloaded producer.disconnecting connection_pool.created
    connection_pool.reload transaction.started transaction.committed transaction.marked_as_consumed
    consumer.consuming.transaction active_job.consume active_job.consumed delay.forwarded].freeze

  SAMPLES = {
    topic: "orders", partition: 3, first_offset: 200, last_offset: 299, messages_count: 100, attempt: 1, time: 12.345,
    lag: 17, offset: 200, timeout: 2_000, tpl: [["orders", 0], ["orders", 1]], offsets: [["orders", 3, 300]], jobs: ["job a"],
    error: IOError.new("gone"), type: "consumer.consume.error", message: {topic: "orders", payload: "secret"},
    messages: [{topic: "orders"}], messages_buffer: [1, 2], waited_ms: 6_000, signal: "TTIN", exists: true,
    workers: 5, period_ms: 10_000, busy_ms: 40_000.0, lock_wait_ms: 4_000.0,
    subscription_group: "app_0", subscription_group_id: "app_0", partitions: 6, topics: %w[orders],
    old_offset: 10, new_offset: 5, reason: "re-created", undelivered: 2
  }.freeze

  def setup
    @output = StringIO.new
    @logger = Logger.new(@output, formatter: ->(level, _time, _name, text) { "#{level} #{text}\n" })
    @monitor = Penstock::Instrumentation::Monitor.new
    @monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(@logger, ticker: Penstock::TestSupport::LogLines::Still.new))
  end

  test "the partitions of a topic are listed after its name, in order" do
    @monitor.instrument("rebalance.partitions_assigned", SAMPLES.slice(:subscription_group_id)
      .merge(tpl: [["orders", 10], ["clicks", 0], ["orders", 2]]))

    assert_match(/app_0: assigned orders 2, 10; clicks 0$/, @output.string)
  end

  test "a turn of the poll loop is a warning from a second on: shorter ones only mean that workers compute" do
    [999.0, 1_000.0].each { |time| publish("poll_loop.slow", stage: "feeding", time: time) }

    assert_equal "DEBUG app_0: a turn of the poll loop took 999.0 ms, most of it feeding\n" \
                 "WARN app_0: a turn of the poll loop took 1.0 s, most of it feeding\n", @output.string
  end

  test "[lock advice] more threads, or more processes: the line has the reason and the command or setting" do
    load = {workers: 5, period_ms: 60_000, busy_ms: 295_000.0, lock_wait_ms: 184_000.0, estimated: false}
    publish("workers.advised", advice: :processes, suggested: nil, **load)
    publish("workers.advised", advice: :threads, suggested: 15, **load, lock_wait_ms: 6_000.0, estimated: true)
    publish("workers.measured", **load)
    publish("workers.measured", **load, busy_ms: 0.0)

    assert_equal "INFO records wait while workers spend 62 % of their busy time waiting for Ruby's lock: more threads won't " \
                 "help: start more processes (`penstock swarm --nodes n`)\n" \
                 "INFO records wait, all 5 workers are busy and spend only about 2 % of that time waiting for Ruby's lock: " \
                 "raise concurrency 5 -> 15 (`config.concurrency`)\n" \
                 "DEBUG 4.9 of 5 workers busy, 62 % of that time waiting for Ruby's lock\n" \
                 "DEBUG 0.0 of 5 workers busy, an unknown share of that time waiting for Ruby's lock\n", @output.string
  end

  test "a consumer that never marks and a slow listener are named with their places" do
    publish("consumer.unmarked", offset: 17, waited_ms: 300_000, place: "Orders#consume (orders.rb:4)")
    publish("listener.slow", inside: "consumer.consumed", listener: "block (app.rb:12)", time: 2_100.0)

    assert_equal "WARN orders/3: Orders#consume (orders.rb:4) has marked nothing from offset 17 on for 300.0 s, although its " \
                 "calls end without an error. With manual_offset_management nothing is committed until you call " \
                 "mark_as_consumed: after a restart or a rebalance these records come again\n" \
                 "WARN a listener of consumer.consumed took 2.1 s: block (app.rb:12). The thread that published the event " \
                 "waited for it: do slow work on a thread of your own\n", @output.string
  end

  test "a group that another application uses too is named, with its topics, its members and the way out" do
    publish("group.foreign_topics", consumer_group_id: "shop", topics: %w[invoices], members: ["billing on /10.0.0.7"])

    assert_equal "WARN group shop: members of the group consume topics that this application doesn't: invoices (billing " \
                 "on /10.0.0.7). If that is another application, give it a consumer group of its own: in one group, each " \
                 "rebalance and deployment of one interrupts the other. If it is another version of this application, nothing " \
                 "has to be done\n", @output.string
  end

  test "without a logger it takes the application's, or raises if there is none" do
    type = Penstock::Instrumentation::LoggerListener
    before, type.default = type.default, nil

    assert_match(/needs a logger: there is no application/, assert_raises(ArgumentError) { type.new(log_polling: false) }.message)
    type.default = -> { @logger }
    @monitor.subscribe(Class.new(type).new)
    2.times { @monitor.instrument("app.quiet", server_id: "a") }
    assert_equal 4, @output.string.lines.size
  ensure
    type.default = before
  end

  test "at level debug a call is one line with partition, offsets, duration and lag" do
    publish("consumer.consumed")

    assert_equal "DEBUG orders/3: consumed 100 messages (offsets 200..299) in 12.3 ms, lag 17\n", @output.string
  end

  test "[logger listener] every error type is logged, also unknown ones" do
    types = Penstock::Instrumentation::Events::Errors::TYPES.keys + ["never.seen.error"]
    types.each do |type|
      @output.truncate(@output.rewind)
      publish("error.occurred", type: type)

      assert_match(/\A(WARN|ERROR|FATAL) orders\/3: .*IOError: gone/, @output.string, type)
    end
    assert_match(/error of the type "never.seen.error"/, @output.string)
  end

  test "an error that isn't an exception is written as it is" do
    publish("error.occurred", type: "librdkafka.error", error: "text")

    assert_match(/text/, @output.string)
  end

  test "a fatal client error is logged as an error, a temporary one as a warning" do
    fatal = Penstock::KafkaError.build(number: -150, name: "_FATAL", message: "over", fatal: true)
    publish("error.occurred", type: "librdkafka.error", error: fatal)
    publish("error.occurred", type: "librdkafka.error", error: IOError.new("gone"))

    assert_equal %w[ERROR WARN], @output.string.scan(/^[A-Z]+/)
  end

  test "[error.occurred] a failed connection is one line: client, server, step, hint, count" do
    error = Penstock::KafkaError.build(number: -169, name: "_AUTHENTICATION",
      message: "sasl_ssl://h:9093/bootstrap: SASL authentication error: no (after 3ms in state AUTH_REQ)")
    @monitor.instrument("error.occurred", {type: "librdkafka.error", error: error, subscription_group: "app_0", repeated: 12})

    assert_equal "WARN app_0: no connection to h:9093, SASL failed: SASL authentication error: no. Check sasl.username, " \
                 "sasl.password and sasl.mechanisms. Retried until it succeeds (12 times since the last line)\n", @output.string
  end

  test "a forced stop lists the running jobs" do
    publish("error.occurred", type: "app.stopping.error", jobs: ["orders/3 offset 7", "clicks/0 offset 9"])

    assert_match(/^FATAL .*\n {2}still running: orders.3 offset 7\n {2}still running: clicks.0 offset 9/, @output.string)
  end

  HELD = {topic: "orders", partition: 3, offset: 17, error: ArgumentError.new("no total"), count: 10, of: 20,
          topics: %w[orders orders.retry.1], cause: "ArgumentError", limit: 300_000}.freeze

  test "an open breaker is one line: the errors, the held topics, until when, what is suspended, how to end it" do
    @monitor.instrument("breaker.opened", HELD)
    line = @output.string
    assert_match(/\AERROR orders: the breaker opened: 10 of 20 records failed with ArgumentError/, line)
    assert_match(%r{the last: orders/3 at offset 17, ArgumentError: no total}, line)
    assert_match(/holds orders, orders\.retry\.1 until a record succeeds, at the latest until \d\d:\d\d:\d\d/, line)
    assert_match(/nothing is dead-lettered and no attempt counts/, line)
    assert_match(/`penstock breaker close --pid #{::Process.pid}` ends it now, `breaker false` in the route turns.* off/, line)
  end

  test "a breaker that connection errors have opened names them, also at its end" do
    outage = Penstock::Processing::Failure::Breaker.const_get(:OUTAGE)
    line = held(of: nil, limit: nil, count: 3, cause: outage)
    assert_match(/\AERROR orders: the breaker opened: 3 records in a row failed with connection errors, which looks like/, line)
    refute_match(/at the latest|of 20/, line)

    @monitor.instrument("breaker.closed", {**HELD, topics: ["others"], reason: :command, held_ms: 1, cause: outage})
    assert_match(/those that fail with connection errors are retried/, @output.string.lines.last)
  end

  test "the end of a hold is logged with its reason and what follows" do
    closed = lambda do |reason|
      @monitor.instrument("breaker.closed", {**HELD, reason: reason, held_ms: 61_000})
      @output.string.lines.last
    end
    assert_match(/WARN orders: the breaker closed: a record succeeded, orders, orders\.retry\.1 continues after 61/,
      closed.call(:success))
    assert_match(/breaker closed: no record succeeded for 61.*that fail with ArgumentError are retried and dead-lettered/,
      closed.call(:limit))
    assert_match(/the breaker closed: the hold was ended by a command/, closed.call(:command))
  end

  test "a breaker that keeps opening and closing is logged only every 30 s" do
    100.times do
      @monitor.instrument("breaker.opened", HELD)
      @monitor.instrument("breaker.closed", {**HELD, reason: :success, held_ms: 1})
    end
    assert_equal 2, @output.string.lines.size
  end

  def held(**changes)
    @monitor.instrument("breaker.opened", {**HELD, topics: ["others"], **changes})
    @output.string.lines.last
  end

  # Text that a payload, a key, a name or an error of user code may contain.
  HOSTILE = "a\e[2J\u009B1m\u202E\r\nE, [2026-01-01] FATAL -- : forged\0\xFF"

  test "an error's message of 20 MB, with control characters and line breaks, is one bounded line" do
    [HOSTILE, "x" * 20_000_000, HOSTILE * 1_000_000].each do |text|
      @output.truncate(@output.rewind)
      # However long that takes here: a slow listener would get a line of its own.
      Penstock::Clock.stub(:milliseconds, 0.0) { publish("error.occurred", error: RuntimeError.new(text), jobs: nil) }

      assert_equal 1, @output.string.lines.size
      assert_operator @output.string.bytesize, :<, 3_000
      refute_match(/[[:cntrl:]&&[^\n]]|\u202E/, @output.string)
      assert_predicate @output.string, :valid_encoding?
    end
  end

  test "an error whose message fails, without a name, or with an invalid backtrace is logged anyway" do
    broken = RuntimeError.new("x")
    broken.define_singleton_method(:message) { raise "no message" }
    odd = RuntimeError.new("a\xFF").tap { |error| error.set_backtrace(["\xFF\e\n"] * 12_000) }
    [broken, Class.new(StandardError).new("anonymous"), odd].each { |error| publish("error.occurred", error: error) }

    assert_includes @output.string, "RuntimeError: (its text can't be read: it raised RuntimeError)"
    assert_match(/#<Class:0x\h+>: anonymous/, @output.string)
    assert_equal 100, @output.string.lines.count { |line| line == "  \\xFF\\e\\n\n" }
    assert_includes @output.string, "  … 11900 more\n"
  end

  test "the line of an error about a frozen String in a consumer names the frozen Strings of a message, and the way out" do
    frozen = assert_raises(FrozenError) { "bytes".b.freeze << "x" }
    wrapped = begin
      begin
        raise frozen
      rescue
        raise Penstock::DeserializationError.new(topic: "orders", partition: 0, offset: 1, part: :payload, reason: frozen)
      end
    rescue => error
      error
    end
    [frozen, wrapped].each do |error|
      @output.truncate(@output.rewind)
      publish("error.occurred", error: error, type: "consumer.consume.error")
      assert_match(/raw_payload, raw_key and raw_headers of a message are frozen.*raw_payload\.dup/, @output.string)
    end
    publish("error.occurred", error: IOError.new("gone"), type: "consumer.consume.error")
    assert_equal 1, @output.string.scan("raw_payload.dup").size
  end

  test "no event, with any content, writes terminal control sequences or text that looks like another entry" do
    hostile = SAMPLES.transform_values { |value| value.is_a?(String) ? HOSTILE : value }
      .merge(error: RuntimeError.new(HOSTILE), jobs: [HOSTILE], topics: [HOSTILE], tpl: [[HOSTILE, 0]],
        offsets: [[HOSTILE, 0, 1]], backtrace: [HOSTILE], stage: HOSTILE, thread: HOSTILE, to: HOSTILE, table: HOSTILE,
        type: "consumer.consume.error")
    @monitor.subscribe("error.occurred") { |event| flunk event[:error].full_message if event[:inside] }
    @monitor.available_events.each do |name|
      @output.truncate(@output.rewind)
      @monitor.instrument(name, hostile)

      assert_predicate @output.string, :valid_encoding?, name
      refute_match(/[[:cntrl:]&&[^\n]]|\u202E/, @output.string, name)
      assert(@output.string.lines.drop(1).all? { |line| line.start_with?("  ") }, "#{name}: #{@output.string}") unless
        name.start_with?("message", "buffer") # two entries
    end
  end

  test "every event is logged or declared silent, and no line fails on a payload" do
    @monitor.subscribe("error.occurred") { |event| flunk event[:error].full_message if event[:inside] }
    @monitor.available_events.each do |name|
      @output.truncate(@output.rewind)
      publish(name)

      assert_equal SILENT.include?(name), @output.string.empty?, name
    end
  end

  test "a full window names its records and the limit, or the one that isn't marked" do
    place = {topic: "orders", partition: 1, offset: 7, waited_ms: 30_000, count: 1_000}
    @monitor.instrument("partition.window_full", {**place, reason: "records"})
    @monitor.instrument("partition.window_full", {**place, reason: "unmarked"})
    @monitor.instrument("partition.window_full", {**place, reason: "metadata"})

    assert_match(/1000 records that run or are retried fill its window \(records\), the first of them offset 7/, @output.string)
    assert_match(/offset 7 has not been marked for 30/, @output.string)
    assert_match(/offset 7 hasn't been done for 30.0 s, and .* no other record is taken until it is done/, @output.string)
  end

  test "a payload without its values gives a line anyway" do
    @monitor.subscribe("error.occurred") { |event| flunk event[:error].full_message if event[:inside] }
    %w[consumer.consumed consumer.consuming.pause rebalance.partitions_assigned connection.topic partition.starved
      consumer.offset_reset offsets.committed app.interrupting error.occurred].each { |name| @monitor.instrument(name, {}) }

    assert_equal [3, 6], @output.string.lines.partition { |line| line.start_with?("DEBUG") }.map(&:size)
  end

  test "[Logger listener] the payload of a produced message is logged only on request, and only at level debug" do
    publish("message.produced_sync")
    refute_match(/secret/, @output.string)

    @monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(@logger, log_messages: true,
      ticker: Penstock::TestSupport::LogLines::Still.new))
    publish("message.produced_sync")
    assert_match(/^DEBUG .*secret/, @output.string)
  end

  private

  def publish(name, **payload)
    @monitor.instrument(name, SAMPLES.merge(payload))
  end
end
