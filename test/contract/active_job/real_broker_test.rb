# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "active_job_contract"

module Penstock
  class ActiveJobOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include ActiveJobContract

    ActiveJobContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
