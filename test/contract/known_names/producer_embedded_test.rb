# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/embedded_broker"
require_relative "producer_contract"

module Penstock
  class KnownProducerOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include KnownProducerContract
    extend TestSupport::EmbeddedBroker::OnePerClass

    def bootstrap_servers = self.class.cluster.bootstrap_servers

    KnownProducerContract.add_to(self)
  end
end
