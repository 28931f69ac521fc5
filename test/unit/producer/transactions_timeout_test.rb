# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transactions"
require "support/fake_transactions"

# Transactions that are open for longer than `transaction.timeout.ms`, and offsets whose request isn't answered in time.
class ProducerTransactionsTimeoutTest < Penstock::TestCase
  Fake = FakeTransactions
  Transactions = Penstock::Producer::Transactions

  class Clock < Penstock::Clock
    attr_accessor :monotonic_us
  end

  def setup
    @client = Fake.new
    @reloads = []
    settings = Penstock::Producer::Settings.new
    settings.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    @clock = Clock.new
    @clock.monotonic_us = 0
    @one = Transactions.new(settings, port, clock: @clock,
      commands: Penstock::Producer::TransactionCommands.new(settings, pause: ->(_delay_ms) {}))
  end

  def port
    reload = lambda do |error, attempt|
      @reloads << [error.code, attempt]
      @client = Fake.new
      nil
    end
    Transactions::Port.new(client: -> { @client }, reload: reload, sender: self)
  end

  test "a client fenced because its transaction exceeded the timeout is replaced, and the error names the timeout" do
    @client.answer(:commit, Fake.fenced)
    error = assert_raises(Penstock::TransactionTimeoutError) { @one.run { @clock.monotonic_us = 60_000_000 } }
    assert_match(/longer than transaction\.timeout\.ms \(60000 ms\).*has aborted it/, error.message)
    assert_instance_of Penstock::FencedError, error.cause
    assert_equal [[:fenced, 1]], @reloads
    @client.answer(:commit, Fake.fenced)
    assert_raises(Penstock::FencedError) { @one.run { @clock.monotonic_us += 59_000_000 } }
    @clock.monotonic_us += 60_000_000
    @client.answer(:begin, Fake.fenced)
    assert_raises(Penstock::FencedError) { @one.run { flunk } }
    assert_equal 1, @reloads.size
  end

  test "offsets refused because the transaction was open for too long don't count as fenced" do
    @client.answer(:offsets, Fake.fenced).answer(:abort, Fake.fenced)
    assert_raises(Penstock::TransactionTimeoutError) do
      @one.run do
        @clock.monotonic_us = 60_000_000
        @one.send_offsets([], nil)
      end
    end
    assert_equal [[:fenced, 1]], @reloads
    assert_equal 1, @one.run { 1 }
  end

  test "offsets whose request has no answer can't become a part of the next transaction: the client is replaced after their end" do
    first = @client.answer(:offsets, Fake.retriable, nil, *[Fake.retriable] * 5, -> { Thread.current.kill })
    offsets = -> { @one.send_offsets([["orders", 0, 7]], :group) }

    @one.run { offsets.call } # answered at the second attempt
    assert_equal [%i[init begin offsets offsets commit], [[:timed_out, 1]]], [first.calls, @reloads]

    @client = first
    assert_raises(Penstock::RetriableError) { @one.run { offsets.call } }
    assert_equal :abort, first.calls.last
    assert_equal 2, @reloads.size

    @client = first
    Thread.new { @one.run { offsets.call } }.join
    assert_equal :abort, first.calls.last
    assert_equal 3, @reloads.size

    @one.run { offsets.call }
    assert_equal [%i[init begin offsets commit], 3], [@client.calls, @reloads.size]
  end

  test "a client that was replaced for another reason isn't replaced again for offsets without an answer" do
    @client.answer(:offsets, *[Fake.retriable] * 5).answer(:abort, Fake.fatal)
    assert_raises(Penstock::RetriableError) { @one.run { @one.send_offsets([["orders", 0, 7]], :group) } }
    @one.run { 1 }

    assert_equal [[:invalid_txn_state, 1]], @reloads
  end

  test "offsets that the coordinator refuses leave no request under way: the client is kept" do
    @client.answer(:offsets, Fake.abortable)
    assert_raises(Penstock::KafkaError) { @one.run { @one.send_offsets([["orders", 0, 7]], :group) } }

    assert_empty @reloads
  end
end
