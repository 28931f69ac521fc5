# frozen_string_literal: true

# The kit in Minitest, with tests in threads. Run by test/process/testing_kit_test.rb, which also reads the failures of
# `FailingTest`.

require_relative "application"
require "minitest/autorun"
require "penstock/testing/minitest"

class OrdersConsumerTest < Minitest::Test
  include Penstock::Testing::Minitest

  def order(**values) = penstock.produce(values.to_json, key: "42")

  def test_invoices
    consumer = penstock.consumer_for(:orders)
    order(total: 12)
    consumer.consume

    assert_equal '{"total":12}', assert_produced("invoices", key: "42", payload: {"total" => Integer}, count: 1).payload
    refute_produced "orders.dead"
    assert_produced(:invoices) { consumer.consume }
    refute_produced("orders.dead") { consumer.consume }
    assert_marked consumer, 0
    refute_marked consumer, 1
  end

  def test_pauses_seeks_and_dead_letters
    consumer = penstock.consumer_for(:orders)
    order(later: true)
    order(skip: true)
    order
    consumer.consume

    assert_paused consumer, 0, timeout: 60_000
    assert_sought consumer, :latest
    assert_dead_lettered consumer, 2, topic: "orders.dead", reason: ArgumentError
    refute_paused consumer, 1
    refute_sought consumer, :earliest
    refute_dead_lettered consumer, 0
  end
end

# Tests in threads: each produces as many messages as the others, and sees its own.
class ParallelTest < Minitest::Test
  include Penstock::Testing::Minitest

  parallelize_me!

  20.times do |number|
    define_method(:"test_#{number}") do
      consumer = penstock.consumer_for(:orders)
      20.times do
        penstock.produce({total: number}.to_json)
        Thread.pass
      end
      consumer.consume

      assert_produced "invoices", payload: {"total" => number}, count: 20
      assert_equal 40, penstock.produced_messages.size
      assert_equal [number] * 20, consumer.messages.map { |message| message.payload["total"] }
    end
  end
end

if ENV["FAILING"]
  class FailingTest < Minitest::Test
    include Penstock::Testing::Minitest

    def setup
      @consumer = penstock.consumer_for(:orders)
      penstock.produce({total: 12}.to_json, key: "42")
      @consumer.consume
    end

    def test_produced = assert_produced("invoices", key: "43")
    def test_not_produced = refute_produced("invoices")
    def test_marked = assert_marked(@consumer, 1)
    def test_not_marked = refute_marked(@consumer, 0)
    def test_paused = assert_paused(@consumer)
    def test_sought = assert_sought(@consumer, 3)
    def test_dead_lettered = assert_dead_lettered(@consumer, 0)
  end
end
