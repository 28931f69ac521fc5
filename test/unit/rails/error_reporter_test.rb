# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/rails/error_reporter"
require "penstock/rails/settings"

module Penstock
  class RailsErrorReporterTest < TestCase
    # As `Rails.error`.
    class Errors
      attr_reader :reported

      def initialize = @reported = []
      def report(error, handled:, source:, context:) = @reported << [error.message, handled, source, context]
    end

    def setup
      super
      @errors = Errors.new
      @settings = OnRails::Settings.new
      @monitor = Instrumentation::Monitor.new(strict: true)
      @monitor.subscribe(OnRails::ErrorReporter.new(@errors, @settings))
    end

    def failed(message, type: "consumer.consume.error", offset: 7, **more)
      place = offset ? {topic: "orders", partition: 3, offset: offset, caller: nil} : {}
      @monitor.instrument("error.occurred", {type: type, error: IOError.new(message), **place, **more})
    end

    def skipped(message, attempt, offset: 7)
      @monitor.instrument("consumer.skipped", {topic: "orders", partition: 3, offset: offset, attempt: attempt,
        error: IOError.new(message)})
    end

    def messages = @errors.reported.map(&:first)

    test "the first attempt and the one after which the record isn't retried are reported, with their place" do
      failed("first", attempt: 1, next: :retry)
      failed("second", attempt: 2, next: :retry)
      failed("last", attempt: 3, next: :dead_letter)
      failed("of a stop", attempt: 2, next: :stop)

      assert_equal ["first", "last", "of a stop"], messages
      assert_equal [false, "application.penstock",
        {type: "consumer.consume.error", topic: "orders", partition: 3, offset: 7, attempt: 1}], @errors.reported.first.drop(1)
    end

    test "each attempt is reported if the setting is :each" do
      @settings.report = :each
      failed("second", attempt: 2, next: :retry)

      assert_equal ["second"], messages
    end

    test "where a strategy decides, the error is reported once: at the first attempt, or when the strategy has given no other" do
      failed("first", attempt: 1, next: :strategy)
      skipped("first", 1)
      failed("third", attempt: 3, next: :strategy)
      skipped("third", 3)
      skipped("elsewhere", 2, offset: 8)

      assert_equal %w[first third], messages
    end

    test "records whose partition was lost before the strategy answered aren't kept for ever" do
      1_001.times { |offset| failed("again", attempt: 2, next: :strategy, offset: offset) }
      [0, 1].each { |offset| skipped("skipped #{offset}", 2, offset: offset) }

      assert_equal ["skipped 1"], messages
    end

    test "errors of clients, and those that a caller gets, aren't reported; errors without an attempt are" do
      %w[librdkafka.error connection.client.poll.error message.produce_sync transaction.commit].each do |type|
        failed(type, type: type, offset: nil)
      end
      failed("of a listener", type: "instrumentation.listener.error", offset: nil)
      failed("of a message", type: "librdkafka.dispatch_error", offset: nil)

      assert_equal ["of a listener", "of a message"], messages
    end
  end
end
