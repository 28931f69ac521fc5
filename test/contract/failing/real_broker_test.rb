# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/real_broker"
require_relative "bulk_contract"
require_relative "failing_contract"
require_relative "gathering_contract"

module Penstock
  class FailingOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include BulkContract
    include FailingContract
    include GatheringContract

    BulkContract.add_to(self)
    FailingContract.add_to(self)
    GatheringContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}
  end
end
