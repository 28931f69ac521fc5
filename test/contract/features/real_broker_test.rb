# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "features_contract"

module Penstock
  class FeaturesOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    FeaturesContract.add_to(self)
    include FeaturesContract

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
