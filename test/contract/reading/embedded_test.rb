# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require_relative "iterator_contract"

module Penstock
  class IteratorOnEmbeddedBrokerTest < TestCase
    include IteratorContract
    extend TestSupport::EmbeddedBroker::OnePerClass

    IteratorContract.add_to(self)

    test "what follows continues after the broker was away" do
      name = topic(1)
      produce(name, 2)
      seen = []
      iterator(name, follow: true, yield_nil: true, max_wait_time: 50).each do |message, iterator|
        seen << message.offset if message
        break if seen.size == 4
        next if message || seen.size != 2 || @was_away

        @was_away = true
        self.class.cluster.broker_down
        self.class.cluster.broker_up
        produce(name, 2)
      end

      assert_equal [0, 1, 2, 3], seen
    ensure
      self.class.cluster.broker_up
    end

    private

    def bootstrap_servers = self.class.cluster.bootstrap_servers
  end
end
