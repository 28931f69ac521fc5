# frozen_string_literal: true

require "test_helper"
require "support/log_lines"
require "penstock/consumer/base_consumer"

module Penstock
  # The lines of failures: where, which attempt, what follows, and whose frames.
  class ErrorLineTest < TestCase
    include TestSupport::LogLines

    def setup = log

    def line(**payload)
      @output.truncate(@output.rewind)
      @listener = Instrumentation::LoggerListener.new(@logger, clock: @clock, ticker: @ticker)
      @listener.on_error_occurred(Instrumentation::Event.new("error.occurred", {type: "consumer.consume.error", topic: "orders",
        partition: 3, error: ArgumentError.new("no total"), **payload}))
      lines.first
    end

    test "the line of a failed call has its offset, attempt and what follows" do
      {
        {offset: 7, first_offset: 7, last_offset: 7, attempt: 2, attempts: 4, next: :retry, retry_in_ms: 4_000} =>
          "at offset 7, attempt 2 of 4; tried again in 4 s",
        {offset: 207, first_offset: 200, last_offset: 299, attempt: 1, next: :retry_topic, to: "orders.retry.1"} =>
          "at offset 207 of 200..299, attempt 1; goes to orders.retry.1",
        {first_offset: 200, last_offset: 299, attempt: 1, next: :retry, retry_in_ms: 2_000} =>
          "in offsets 200..299, attempt 1; tried again in 2 s",
        {offset: 7, next: :dead_letter, to: "orders.dead", attempt: 4, attempts: 4} =>
          "at offset 7, attempt 4 of 4; goes to the dead letters in orders.dead",
        {offset: 7, next: :skip, attempt: 1} => "at offset 7, attempt 1; skipped",
        {offset: 7, next: :held, attempt: 1} => "at offset 7, attempt 1; tried again until the breaker of orders closes",
        {offset: 7, next: :again, attempt: 1} => "at offset 7, attempt 1; tried again, no attempt counts",
        {offset: 7, next: :next_owner, attempt: 1} => "at offset 7, attempt 1; its partition was revoked: the next owner runs it",
        {offset: 7} => "at offset 7",
        {} => ""
      }.each do |payload, text|
        assert_equal "ERROR orders/3: consume failed #{text}".rstrip + ": ArgumentError: no total", line(**payload)
      end
    end

    test "an error that stops the process, and a letter that wasn't accepted, have their consequence" do
      assert_equal "ERROR orders/3: consume raised an error that stops the process at offset 7, attempt 1; the next owner of " \
                   "its partition runs it: ArgumentError: no total",
        line(type: "consumer.critical.error", offset: 7, attempt: 1, next: :stop)
      assert_match(/not acknowledged.*; tried again in 500 ms: ArgumentError: no total \[offset 7, to orders.dead\]/,
        line(type: "dead_letter_queue.dispatch.error", offset: 7, retry_in_ms: 500, to: "orders.dead"))
    end

    test "attempts of earlier processes may be more than the limit" do
      assert_match(/ at offset 7, attempt 4 \(limit 2\); goes to /,
        line(offset: 7, next: :dead_letter, to: "orders.dead", attempt: 4, attempts: 2))
    end

    test "a message that wasn't stored has its topic, without the client's numbers for an unknown partition and offset" do
      assert_equal "ERROR payments: a message was not delivered, and the client doesn't send it again: ArgumentError: no total " \
                   "[producer_id p]",
        line(type: "librdkafka.dispatch_error", topic: "payments", partition: -1, offset: -1001, producer_id: "p")
      assert_equal "ERROR payments: a message could not be delivered while its caller waited: ArgumentError: no total",
        line(type: "message.produce_sync", topic: nil, partition: nil, message: {topic: "payments", payload: "x"})
    end

    test "a letter that wasn't accepted has no backtrace, since no frame of the application leads to it" do
      error = ArgumentError.new("x").tap { |one| one.set_backtrace([OWN]) }
      line(type: "dead_letter_queue.dispatch.error", error: error)

      assert_equal 1, lines.size
    end

    test "the right that is missing has the topic that a message was for" do
      error = KafkaError.build(number: 29, name: :topic_authorization_failed, message: "Broker: Topic authorization failed")

      assert_match(/\(topic_authorization_failed\)\. Grant this user WRITE on the topic mydead \[/,
        line(type: "dead_letter_queue.dispatch.error", error: error, to: "mydead"))
      assert_match(/Grant this user WRITE on the topic payments\z/,
        line(type: "librdkafka.dispatch_error", topic: "payments", partition: -1, error: error))
      assert_match(/Grant this user WRITE on the topic payments\z/,
        line(type: "message.produce_sync", topic: nil, partition: nil, message: {topic: "payments"}, error: error))
    end

    test "exit in a consumer has the exit code" do
      assert_match(/SystemExit: the status of `exit` isn't used: the process stops cleanly, with the exit code 0/,
        line(type: "consumer.critical.error", error: SystemExit.new(3)))
    end

    test "frames of what called the command are left out" do
      command = "#{File.expand_path("../../../exe/penstock", __dir__)}:23:in `<top (required)>'"
      line(error: ArgumentError.new("x").tap { |one| one.set_backtrace([USER, command, "/usr/bin/bundle:25:in `load'"]) })

      assert_equal ["  #{USER}"], lines.drop(1)
    end

    OWN = "#{File.expand_path("../../../lib/penstock", __dir__)}/execution/unit_runner.rb:1:in `run'".freeze
    USER = "/app/consumers/orders.rb:7:in `consume'"
    RUBY = "#{RbConfig::CONFIG["rubylibdir"]}/socket.rb:1:in `connect'".freeze

    test "Penstock's frames are left out where there are the application's, except at level debug" do
      error = ->(*frames) { ArgumentError.new("x").tap { |one| one.set_backtrace(frames) } }
      line(error: error.call(RUBY, USER, OWN, "<internal:kernel>:1"))
      assert_equal ["  #{RUBY}", "  #{USER}", "  <internal:kernel>:1"], lines.drop(1)

      line(error: error.call(RUBY, OWN, "<internal:kernel>:1"))
      assert_equal ["  #{RUBY}", "  #{OWN}", "  <internal:kernel>:1"], lines.drop(1)

      log(Logger::DEBUG)
      line(error: error.call(USER, OWN))
      assert_equal ["  #{USER}", "  #{OWN}"], lines.drop(1)
    end

    test "what was revoked, lost and kept" do
      keys = Instrumentation::Events::Rebalance::KEYS.to_h { |key| [key, "app_0"] }
      @monitor.instrument("rebalance.partitions_assigned", {**keys, tpl: [], kept: [["orders", 1], ["orders", 0]]})
      @monitor.instrument("rebalance.partitions_assigned", {**keys, tpl: [], kept: []})
      @monitor.instrument("rebalance.partitions_assigned", {**keys, tpl: [["orders", 2]], kept: [["orders", 0]]})

      assert_equal ["INFO app_0: keeps orders 0, 1", "INFO app_0: assigned no partitions", "INFO app_0: assigned orders 2"], lines
    end

    # A consumer without hooks of its own, and one with.
    class Plain < BaseConsumer; end

    class Hooked < BaseConsumer
      private

      def shutdown = nil
    end

    test "a hook has a line only where the consumer defines it" do
      [Plain.new, Hooked.new].each do |consumer|
        %w[consumer.shutdown consumer.revoked].each do |name|
          @listener.public_send("on_#{name.tr(".", "_")}",
            Instrumentation::Event.new(name, {topic: "orders", partition: 0, time: 0.1, caller: consumer}))
        end
      end

      assert_equal ["INFO orders/0: the hook shutdown ran in 0.1 ms"], lines
    end
  end
end
