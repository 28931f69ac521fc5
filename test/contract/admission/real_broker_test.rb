# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "admission_contract"

module Penstock
  class AdmissionOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    AdmissionContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
