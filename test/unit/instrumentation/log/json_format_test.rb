# frozen_string_literal: true

require "test_helper"
require "json"
require "time"
require "support/log_lines"
require "penstock/application"
require "penstock/swarm/node_identity"

module Penstock
  class JsonFormatTest < TestCase
    include TestSupport::LogLines

    JsonFormat = Instrumentation::Log::JsonFormat

    def json(logger = nil)
      log
      @logger = JsonFormat.use(logger || Logger.new(@output, progname: "shop", level: Logger::INFO))
      @listener = Instrumentation::LoggerListener.new(@logger, clock: @clock, ticker: @ticker)
      @monitor.subscribe(@listener)
    end

    def entries = lines.map { |line| JSON.parse(line) }

    test "an event is one object: time, severity, progname, message, its name and main fields, the error" do
      json
      error = ArgumentError.new("no\ntotal").tap { |one| one.set_backtrace(["/app/a.rb:1", "/app/b.rb:2"]) }
      @listener.on_error_occurred(Instrumentation::Event.new("error.occurred", {type: "consumer.consume.error", topic: "orders",
        partition: 3, offset: 7, attempt: 2, attempts: 4, next: :retry, retry_in_ms: 4_000, error: error, caller: Object.new}))
      entry = entries.fetch(0)

      assert_in_delta Time.now.to_f, Time.iso8601(entry.delete("time")).to_f, 600
      assert_equal({"severity" => "ERROR", "progname" => "shop", "event" => "error.occurred", "topic" => "orders",
                    "partition" => 3, "offset" => 7, "attempt" => 2, "attempts" => 4, "next" => "retry", "retry_in_ms" => 4_000,
                    "type" => "consumer.consume.error", "error_class" => "ArgumentError", "error_message" => 'no\ntotal',
                    "details" => ["/app/a.rb:1", "/app/b.rb:2"],
                    "message" => "orders/3: consume failed at offset 7, attempt 2 of 4; tried again in 4 s: " \
                                 "ArgumentError: no\\ntotal"}, entry)
    end

    test "an event of a swarm has the number of its node" do
      json
      @listener.on_swarm_manager_after_fork(Instrumentation::Event.new("swarm.manager.after_fork",
        {node: Swarm::NodeIdentity.new(3, 99), pid: 99}))

      assert_equal [3, 99], entries.fetch(0).values_at("node", "pid")
    end

    test "a summary has its numbers" do
      json
      call = {topic: "orders", partition: 0, messages_count: 3, time: 1.0, lag: 9}
      2.times { @listener.on_consumer_consumed(Instrumentation::Event.new("consumer.consumed", call)) }
      seconds_pass(5)

      assert_equal ["summary", "orders", 6, 2, 9], entries.fetch(0).values_at("event", "topic", "messages_count", "count", "lag")
    end

    test "other entries of a logger without a formatter of its own are JSON too; another formatter is kept" do
      json
      @logger.info("plain\e[2J")
      @logger.error(IOError.new("gone"))
      @logger.warn(a: 1)
      assert_equal [["INFO", 'plain\e[2J'], ["ERROR", "IOError: gone"], ["WARN", {a: 1}.inspect]],
        entries.map { |entry| entry.values_at("severity", "message") }

      other = StringIO.new
      json(Logger.new(other, formatter: ->(_severity, _time, _name, text) { "#{text}\n" }))
      @output = other
      @logger.info("plain")
      @listener.on_app_quiet(Instrumentation::Event.new("app.quiet", {server_id: "a"}))
      assert_equal "plain", lines[0]
      assert_equal "app.quiet", JSON.parse(lines[1]).fetch("event")
    end

    test "an entry with any content is one line of valid JSON" do
      json
      hostile = "a\e[2J\u202E\r\nE, forged\0\xFF\""
      @listener.on_error_occurred(Instrumentation::Event.new("error.occurred",
        {type: hostile, topic: hostile, partition: 0, error: RuntimeError.new(hostile), jobs: [hostile]}))

      assert_equal 1, lines.size
      assert_equal "RuntimeError", entries.dig(0, "error_class")
      refute_match(/[[:cntrl:]&&[^\n]]|\u202E/, @output.string)
    end

    test "config.log_format selects it for the application's logger, and is checked at boot" do
      output = StringIO.new
      app = Application.new { |config| config.logger = Logger.new(output) and config.log_format = :json }
      Instrumentation::SafeLogger.of(app.logger).info("x")
      assert_equal "x", JSON.parse(output.string).fetch("message")

      wrong = Application.new do |config|
        config.kafka = {"bootstrap.servers": "a:1"}
        config.log_format = :xml
      end
      assert_includes assert_raises(ConfigurationError) { wrong.validate! }.message,
        'config.log_format: must be "text" or "json", is :xml'
    end

    test "config.logger is never nil, in a setup block and afterwards, and always the same" do
      seen = nil
      app = Application.new { |config| (seen = config.logger).level = Logger::WARN }

      assert_same seen, app.config.logger
      assert_same seen, app.logger
      assert_equal Logger::WARN, app.logger.level
      app.setup { |config| config.logger = @mine = Logger.new(nil) }
      assert_same @mine, app.logger
    end
  end
end
