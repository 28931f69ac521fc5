# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# A transactional client is closed only between transactions.
class ProducerTransactionalDisconnectTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  def sender
    @sender ||= connected_api(kafka: {"transactional.id": "shop"})
  end

  test "a transaction, also another thread's, keeps the client connected; after a disconnect the next one begins with a new client" do
    sender.transaction do |transaction|
      transaction.produce_sync(thing)
      refute sender.disconnect
      refute Thread.new { sender.disconnect }.value
    end
    first = sender.client.name
    assert wait_until(20, "a client without work") { sender.disconnect }
    assert_predicate sender.status, :disconnected?

    assert_predicate sender.transaction { |transaction| transaction.produce_sync(thing) }, :delivered?
    refute_equal first, sender.client.name
  end

  test "a closed producer has nothing to disconnect" do
    sender.produce_sync(thing)
    sender.close

    refute sender.disconnect
    refute_predicate sender, :disconnectable?
  end
end
