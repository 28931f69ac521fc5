# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transactions"
require "support/fake_transactions"

# Listeners of a lost client may be waiting for the lock.
class ProducerTransactionsListenersTest < Penstock::TestCase
  Fake = FakeTransactions

  # Replaces the thread that calls the listeners.
  class Left
    attr_reader :limits

    def initialize(&look)
      @look = look
      @limits = []
    end

    def join(limit_ms) = @limits << [limit_ms, Thread.new(&@look).value]
  end

  def setup
    @client = Fake.new
    settings = Penstock::Producer::Settings.new
    settings.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    commands = Penstock::Producer::TransactionCommands.new(settings, pause: ->(_delay_ms) {})
    reload = ->(*) { (@client = Fake.new) && @left }
    port = Penstock::Producer::Transactions::Port.new(client: -> { @client }, reload: reload, sender: self)
    @transactions = Penstock::Producer::Transactions.new(settings, port, commands: commands)
  end

  test "listeners of a replaced client are waited for after the lock is released, for at most a second" do
    @client.answer(:commit, Fake.fatal)
    @left = Left.new { @transactions.run { :had_its_turn } }
    assert_raises(Penstock::FatalError) { @transactions.run { 1 } }

    assert_equal [[1_000, :had_its_turn]], @left.limits
  end

  test "settling an unknown transaction waits for listeners of a replaced client in the same way" do
    @client.answer(:init, Fake.fatal)
    @left = Left.new { @transactions.idle? }
    @transactions.prepare

    assert_equal [[1_000, true]], @left.limits
  end

  test "a transaction begun inside another's call leaves the wait for listeners to the outer call" do
    @client.answer(:commit, Fake.fatal)
    @left = Left.new { @transactions.idle? }
    inner = nil
    @transactions.between do
      inner = assert_raises(Penstock::FatalError) { @transactions.run { 1 } }
      assert_empty @left.limits
    end
    @transactions.run { 2 }

    assert inner
    assert_equal [[1_000, true]], @left.limits
  end
end
