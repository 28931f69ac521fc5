# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "parallel_contract"

module Penstock
  class ParallelOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    ParallelContract.add_to(self)
    include ParallelContract

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
