# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "rebalance_contract"

module Penstock
  class RebalanceOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include RebalanceContract

    RebalanceContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def assert_once(got) = assert_equal(got.uniq.size, got.size, got.inspect)
    def attempts_kept(last) = [last, last + 1]

    STATIC = ->(config) { config.static_membership = "taken" }

    # Another process takes its place.
    def lose(_member, topic)
      consuming(topic, ->(_) { manual_offset_management true }, kafka: RebalanceContract::HASTY, config: STATIC) { messages.size }
    end

    def loser = {config: STATIC}
  end
end
