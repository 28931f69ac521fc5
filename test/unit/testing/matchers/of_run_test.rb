# frozen_string_literal: true

require "test_helper"
require "support/whole_application"
require "penstock/testing/minitest"
require "penstock/testing/matchers/of_run"

module Penstock
  class MatcherOfRunTest < TestCase
    include TestSupport::WholeApplication
    include Testing::Minitest

    M = Testing::Matchers
    IN_IT = <<~RUN.gsub(/^/, "  ").chomp
      consumed:
        orders/0 offset 0
        orders/0 offset 1, 3 attempts, failed with RuntimeError
      dead-lettered:
        orders/0 offset 1 to orders.dead after 3 attempts (RuntimeError: no such customer)
      produced:
        orders.dead/0 key "42" "bad"
      committed:
        orders/0 offset 2 (shop)
      errors:
        RuntimeError: no such customer
        RuntimeError: no such customer
        RuntimeError: no such customer
    RUN

    # Fails for one payload.
    class Picky < BaseConsumer
      def consume = each { |message| raise "no such customer" if message.raw_payload == "bad" }
    end

    def penstock_application
      @application ||= application do
        topic(:orders) do
          consumer Picky
          max_messages 1
          dead_letter_queue topic: "orders.dead", max_retries: 2
        end
      end
    end

    def run_of_two
      penstock.produce("good", topic: :orders)
      penstock.produce("bad", topic: :orders, key: "42")
      penstock.consume_all
    end

    def failure(matcher, run)
      refute matcher.matches?(run), "it matches"
      matcher.failure_message
    end

    test "[run matchers] dead letters of a run, by topic, offset, attempts and target" do
      run = run_of_two
      assert_dead_lettered run, :orders, offset: 1, attempts: 3
      assert_dead_lettered run, "orders", to: "orders.dead", partition: 0
      refute_dead_lettered run, :orders, offset: 0
      assert M::DeadLetteredInRun.new(penstock, :orders, offset: 1).after(3).attempts.matches?(run)
      assert_equal "expected the run to have dead-lettered orders with offset 0 after 3 attempts, but in it:\n#{IN_IT}",
        failure(M::DeadLetteredInRun.new(penstock, :orders, offset: 0).after(3).attempts, run)
    end

    test "[run matchers] consumed, retried and committed records" do
      run = run_of_two
      assert_consumed run, :orders, offset: 0, attempts: 1, group: "shop"
      assert_retried run, :orders, offset: 1, attempts: 3
      refute_retried run, :orders, offset: 0
      assert_committed run, :orders, offset: 2, group: :shop
      assert_equal "expected the run to have consumed orders with offset 2, but in it:\n#{IN_IT}",
        failure(M::ConsumedInRun.new(penstock, :orders, offset: 2), run)
      assert_equal "expected the run to have retried a record, but in it:\n  nothing was consumed, and nothing produced",
        failure(M::Retried.new(penstock), penstock.consume_all)
      assert_equal "expected the run to have committed orders with partition 1 and offset 2, but in it:\n#{IN_IT}",
        failure(M::Committed.new(penstock, :orders, partition: 1, offset: 2), run)
    end

    test "[run matchers] redelivered and waiting records, and those in retry topics" do
      run = run_of_two
      none = "but in it:\n#{IN_IT}"
      assert_equal "expected the run to have redelivered orders with offset 0, #{none}",
        failure(M::Redelivered.new(penstock, :orders, offset: 0), run)
      assert_equal "expected the run to have waiting records: orders with reason \"delay\", #{none}",
        failure(M::Waiting.new(penstock, :orders, reason: :delay), run)
      assert_equal "expected the run to have sent to a retry topic: orders after 1 attempt, #{none}",
        failure(M::SentToRetryTopic.new(penstock, :orders, attempts: 1), run)
    end

    test "[run matchers] what isn't expected but is there fails with the run" do
      matcher = M::DeadLetteredInRun.new(penstock, :orders)
      assert matcher.matches?(run_of_two)
      assert_equal "expected the run not to have dead-lettered orders, but in it:\n#{IN_IT}", matcher.failure_message_when_negated
    end

    test "[run matchers] something else than a run, and names that don't exist, are errors" do
      assert_equal "a run is expected, as penstock.consume_all returns it, not :orders",
        assert_raises(ArgumentError) { assert_consumed :orders }.message
      assert_equal "ofset can't be expected here, but group, partition, offset, attempts",
        assert_raises(ArgumentError) { M::ConsumedInRun.new(penstock, :orders, ofset: 1) }.message
      assert_equal "attempts can't be expected here", assert_raises(ArgumentError) { M::Committed.new(penstock).after(3) }.message
    end

    test "[run matchers] a long run is shortened" do
      12.times { |number| penstock.produce("good", topic: :orders, key: number.to_s) }
      text = penstock.consume_all.to_s
      assert_includes text, "  orders/0 offset 9\n  … and 2 more\ncommitted:"
    end
  end
end
