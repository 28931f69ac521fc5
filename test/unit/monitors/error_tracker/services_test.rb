# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/monitors/error_tracker"
require "support/ruby_program"

module Penstock
  # Each service's own gem, in a process of its own because it changes the process (threads, hooks at its end). Nothing is sent.
  class ErrorTrackerServicesTest < TestCase
    REPORT = <<~RUBY
      require "json"
      require "penstock/instrumentation/monitor"
      require "penstock/monitors/error_tracker"

      class OrdersConsumer
        def consume
        end
      end

      def report(service)
        monitor = Penstock::Instrumentation::Monitor.new(strict: true)
        monitor.subscribe(Penstock::Monitors::ErrorTracker.new(service))
        monitor.instrument("error.occurred", {type: "consumer.consume.error", error: IOError.new("no database"), topic: "orders",
          partition: 3, offset: 7, attempt: 1, next: :retry, caller: OrdersConsumer.new})
      end
    RUBY
    CONTEXT = {"type" => "consumer.consume.error", "topic" => "orders", "partition" => 3, "offset" => 7, "attempt" => 1,
               "consumer" => "OrdersConsumer"}.freeze

    def run_ruby(code)
      output, result = TestSupport::RubyProgram.run(REPORT + code)
      assert result.success?, "#{result}: #{output}"
      JSON.parse(output.lines.last)
    end

    test "[error trackers] Sentry receives the error with topic, consumer and type as tags, and the whole context" do
      event = run_ruby(<<~RUBY)
        require "sentry-ruby"
        Sentry.init do |config|
          config.dsn = "http://key@127.0.0.1:1/1"
          config.transport.transport_class = Sentry::DummyTransport
          config.background_worker_threads = 0
          config.sdk_logger = Logger.new(nil)
        end
        report(:sentry)
        puts JSON.generate(Sentry.get_current_client.transport.events.first.to_h)
      RUBY

      exception = event["exception"]["values"].first
      assert_equal ["IOError", "no database"], [exception["type"], exception["value"][/no database/]]
      assert_equal CONTEXT.slice("topic", "consumer", "type"), event["tags"]
      assert_equal CONTEXT, event["contexts"]["penstock"]
    end

    test "[error trackers] Honeybadger receives the error with the consumer as component and the whole context" do
      notice = run_ruby(<<~RUBY)
        require "honeybadger"
        Honeybadger.configure do |config|
          config.api_key = "key"
          config.backend = "test"
          config.logger = Logger.new(nil)
        end
        report(:honeybadger)
        Honeybadger.flush
        puts JSON.generate(Honeybadger::Backend::Test.notifications[:notices].first.as_json)
      RUBY

      assert_equal ["IOError", "no database"], [notice["error"]["class"], notice["error"]["message"][/no database\z/]]
      assert_equal ["OrdersConsumer", "consumer.consume.error"], notice["request"].values_at("component", "action")
      assert_equal CONTEXT, notice["request"]["context"].slice(*CONTEXT.keys)
    end

    test "[error trackers] Bugsnag receives the error with the whole context" do
      event = run_ruby(<<~RUBY)
        require "bugsnag"
        bodies = []
        Bugsnag::Delivery.register(:memory, Module.new {
          define_singleton_method(:deliver) { |_url, body, _configuration, _options = {}| bodies << body }
        })
        Bugsnag.configure do |config|
          config.api_key = "0" * 32
          config.logger = Logger.new(nil)
          config.auto_capture_sessions = false
          config.delivery_method = :memory
        end
        report(:bugsnag)
        puts bodies.first
      RUBY

      event = event["events"].first
      assert_equal ["IOError", "no database"], event["exceptions"].first.values_at("errorClass", "message")
      assert_equal ["error", "OrdersConsumer consumer.consume.error"], event.values_at("severity", "context")
      assert_equal CONTEXT, event["metaData"]["penstock"]
    end

    test "a missing gem is named, with the line for the Gemfile" do
      text = run_ruby(<<~RUBY)
        def require(name) = (name == "honeybadger") ? raise(LoadError, "cannot load such file -- honeybadger") : super
        begin
          report(:honeybadger)
        rescue Penstock::ConfigurationError => error
          puts JSON.generate([error.message])
        end
      RUBY

      assert_includes text.first, "the gem honeybadger can't be loaded (cannot load such file -- honeybadger). " \
        "Add `gem \"honeybadger\"` to the Gemfile"
    end
  end
end
