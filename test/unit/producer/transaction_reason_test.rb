# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/settings"
require "penstock/producer/transaction_reason"
require "penstock/producer/transactions"
require "support/fake_transactions"

class ProducerTransactionReasonTest < Penstock::TestCase
  Fake = FakeTransactions

  def reason(error, *answers)
    Penstock::Producer::TransactionReason.of(error, @client = Fake.new.answer(:begin, *answers))
  end

  test "an error that hides the reason is replaced by the one that abandoned the transaction" do
    %w[_STATE _PURGE_QUEUE _PURGE_INFLIGHT].each do |name|
      assert_equal :group_authorization_failed, reason(Fake.error(name), Fake.abortable).code
    end
    assert_equal :invalid_txn_state, reason(Fake.unmarked, Fake.fatal).code
  end

  test "an error stays if the transaction was not abandoned, or the client is closed" do
    [Fake.unmarked, -> { raise Penstock::HandleClosedError, "closed" }].each do |answer|
      error = Fake.error("_PURGE_QUEUE")
      assert_same error, reason(error, answer)
    end
  end

  test "offsets that an abandoned transaction refuses raise the reason, and it is reported" do
    events = []
    error = assert_raises(Penstock::KafkaError) do
      transactions(events).run do
        @client.answer(:begin, Fake.abortable)
        @transactions.send_offsets([["things", 0, 1]], :group)
      end
    end

    assert_equal [:group_authorization_failed, :state], [error.code, error.cause.code]
    assert_equal [:group_authorization_failed], events.map(&:code)
  end

  test "an error with a reason of its own stays, and nothing is asked" do
    [Fake.abortable, Fake.retriable, Fake.error("_STATE", fatal: true), Penstock::WaitTimeoutError.new("late")].each do |error|
      assert_same error, reason(error, Fake.abortable)
      assert_empty @client.calls
    end
  end

  private

  def transactions(errors)
    settings = Penstock::Producer::Settings.new
    settings.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    settings.monitor.subscribe("error.occurred") { |event| errors << event[:error] }
    @client = Fake.new.answer(:offsets, Fake.unmarked)
    port = Penstock::Producer::Transactions::Port.new(client: -> { @client }, reload: ->(*) {}, sender: self)
    @transactions = Penstock::Producer::Transactions.new(settings, port)
  end
end
