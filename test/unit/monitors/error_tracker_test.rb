# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/monitors/error_tracker"

module Penstock
  class ErrorTrackerTest < TestCase
    class OrdersConsumer
      def consume
      end
    end

    def setup
      super
      @reported = []
    end

    def subscribe(**options)
      Instrumentation::Monitor.new(strict: true).tap do |monitor|
        monitor.subscribe(Monitors::ErrorTracker.new(->(error, context) { @reported << [error.message, context] }, **options))
      end
    end

    def failed(monitor, message, offset: 7, **more)
      monitor.instrument("error.occurred", {type: "consumer.consume.error", error: IOError.new(message), topic: "orders",
        partition: 3, offset: offset, caller: OrdersConsumer.new, **more})
    end

    def messages = @reported.map(&:first)

    test "[error trackers] the first attempt and the one after which the record isn't retried are reported, with place and consumer" do
      monitor = subscribe
      failed(monitor, "first", attempt: 1, next: :retry)
      failed(monitor, "second", attempt: 2, next: :retry)
      failed(monitor, "last", attempt: 3, next: :dead_letter)

      assert_equal %w[first last], messages
      assert_equal({type: "consumer.consume.error", topic: "orders", partition: 3, offset: 7, attempt: 1,
        consumer: "Penstock::ErrorTrackerTest::OrdersConsumer"}, @reported.first.last)
    end

    test "each attempt is reported on request" do
      monitor = subscribe(report: :each)
      3.times { |index| failed(monitor, "attempt #{index + 1}", attempt: index + 1, next: :retry) }

      assert_equal ["attempt 1", "attempt 2", "attempt 3"], messages
    end

    test "an error after which a strategy decides is reported once the record is skipped" do
      monitor = subscribe
      failed(monitor, "undecided", attempt: 2, next: :strategy)
      assert_empty messages

      2.times do
        monitor.instrument("consumer.skipped",
          {topic: "orders", partition: 3, offset: 7, attempt: 2, error: IOError.new("skipped")})
      end
      assert_equal ["skipped"], messages
    end

    test "errors that callers receive aren't reported" do
      monitor = subscribe
      %w[librdkafka.error message.produce_sync transaction.commit].each do |type|
        monitor.instrument("error.occurred", {type: type, error: IOError.new(type)})
      end
      monitor.instrument("error.occurred", {type: "instrumentation.listener.error", error: IOError.new("of a listener")})

      assert_equal ["of a listener"], messages
    end

    test "wrong arguments are reported together, with the way out" do
      error = assert_raises(ConfigurationError) { Monitors::ErrorTracker.new(:sentri, report: :all) }

      assert_includes error.message, "there is no error tracker :sentri. Did you mean sentry?"
      assert_includes error.message, "must be :first_and_last or :each, is :all"
    end

    test "what is no service at all is answered with what is possible" do
      error = assert_raises(ConfigurationError) { Monitors::ErrorTracker.new(nil) }

      assert_includes error.message,
        "there is no error tracker nil. Pass :sentry, :honeybadger, :bugsnag, :appsignal, or a callable"
    end
  end
end
