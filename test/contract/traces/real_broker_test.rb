# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "traces_contract"

module Penstock
  class TracesOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TracesContract

    TracesContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}
  end
end
