# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "application_contract"

module Penstock
  class KnownApplicationOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    KnownApplicationContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
