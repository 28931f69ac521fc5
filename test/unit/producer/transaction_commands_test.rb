# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transaction_commands"
require "support/fake_transactions"
require "support/small_scheduler"
require "support/virtual_clock"

class ProducerTransactionCommandsTest < Penstock::TestCase
  def setup
    @settings = Penstock::Producer::Settings.new
    @settings.max_wait_timeout = 2_000
    @told = []
    @settings.monitor.subscribe("error.occurred") { |event| @told << [event[:type], event[:attempt], event[:retry]] }
    @clock = VirtualClock.new
    @commands = Penstock::Producer::TransactionCommands.new(@settings, clock: @clock,
      pause: ->(delay_ms) { @clock.advance(delay_ms) })
  end

  def call(*errors)
    @commands.call("commit") do |timeout_ms|
      (@timeouts ||= []) << timeout_ms
      error = errors.shift
      raise error if error

      :done
    end
  end

  def retriable(count)
    Array.new(count) { FakeTransactions.retriable }
  end

  test "each attempt has the remaining time, after a growing back-off" do
    assert_equal :done, call(*retriable(2))
    assert_equal [2_000, 1_500, 500], @timeouts
  end

  test "after the last attempt the error is raised" do
    @settings.wait_backoff_on_transaction_command = 0
    assert_raises(Penstock::RetriableError) { call(*retriable(9)) }

    assert_equal 5, @timeouts.size
    assert_equal ["transaction.commit", 5, false], @told.last
  end

  test "no attempt starts after the time limit" do
    assert_raises(Penstock::RetriableError) { call(*retriable(9)) }

    assert_equal [2_000, 1_500, 500, 0], @timeouts
  end

  test "an error that isn't retriable is not retried" do
    assert_raises(Penstock::KafkaError) { call(FakeTransactions.abortable) }
    assert_equal [["transaction.commit", 1, false]], @told
  end

  test "the raised error has what can be done, once, and keeps its class and code" do
    code = :transactional_id_authorization_failed
    refused = Penstock::KafkaError.build(number: 53, name: code, message: "Refused", fatal: true)
    error = assert_raises(Penstock::FatalError) { call(refused) }
    again = assert_raises(Penstock::FatalError) { call(error) }

    text = "Refused (transactional_id_authorization_failed). Grant this user WRITE and DESCRIBE on the transactional.id"
    assert_equal [text, text, code, "Refused", true],
      [error.message, again.message, error.code, error.broker_message, error.fatal?]
  end

  test "with a fiber scheduler other fibers run while a command waits" do
    gate = Queue.new
    turns = []
    Thread.new do
      Fiber.set_scheduler(Penstock::TestSupport::SmallScheduler.new)
      Fiber.schedule { turns << @commands.call("commit") { Thread.new { gate.pop }.value } }
      turns << :main
      gate << :committed
    end.join

    assert_equal %i[main committed], turns
  end

  test "the producer's close limits the time of a command" do
    @commands.end_by(Penstock::Deadline.in(300, clock: @clock))
    assert_raises(Penstock::RetriableError) { call(*retriable(9)) }

    assert_equal [300, 0], @timeouts
    assert_equal 0, @commands.deadline(5_000).remaining_ms
  end
end
