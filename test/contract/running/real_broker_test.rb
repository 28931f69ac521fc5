# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "running_contract"

module Penstock
  class RunningOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    RunningContract.add_to(self)
    include RunningContract

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
