# frozen_string_literal: true

require "test_helper"
require "support/damaging_proxy"
require "support/native_producing"

# Answers to a transaction's requests that are missing until the transaction has ended.
class NativeProducerLateAnswersTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  ADD_PARTITIONS_TO_TXN = 24
  LONG_MS = 20_000

  def teardown
    super
    @proxy&.close
  end

  # The first response to AddPartitionsToTxn is lost.
  def transactional
    lost = 0
    @proxy = Penstock::TestSupport::DamagingProxy.new(cluster.bootstrap_servers, api: ADD_PARTITIONS_TO_TXN) do |frame|
      frame if (lost += 1) > 1
    end
    producer_on(@proxy.bootstrap_servers, transactional_id: "late", transaction_timeout_ms: 1_500, message_timeout_ms: 600,
      linger_ms: 0).tap { |native| native.init_transactions(LONG_MS) }
  end

  test "a request of an ended transaction that times out changes nothing in the next one" do
    native = transactional
    native.begin_transaction
    dispatch(native)
    assert_raises(Penstock::KafkaError) { native.commit_transaction(LONG_MS) }
    native.abort_transaction(LONG_MS)
    native.begin_transaction
    observe_for(2) # The request of the first transaction times out after 1.6 s
    delivery = dispatch(native)
    native.commit_transaction(LONG_MS)

    assert_nil delivery.error
  end

  test "a request that times out after its transaction ended, while there is none, changes nothing" do
    native = transactional
    native.begin_transaction
    dispatch(native)
    assert_raises(Penstock::KafkaError) { native.commit_transaction(LONG_MS) }
    native.abort_transaction(LONG_MS)
    observe_for(2)
    native.begin_transaction
    delivery = dispatch(native)
    native.commit_transaction(LONG_MS)

    assert_nil delivery.error
  end
end
