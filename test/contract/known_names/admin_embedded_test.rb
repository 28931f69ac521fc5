# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require_relative "admin_contract"

module Penstock
  class KnownAdminOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include KnownAdminContract
    extend TestSupport::EmbeddedBroker::OnePerClass

    def bootstrap_servers = self.class.cluster.bootstrap_servers

    KnownAdminContract.add_to(self)
  end
end
