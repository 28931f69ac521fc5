# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "consumer_contract"

module Penstock
  class KnownConsumerOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    KnownConsumerContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
