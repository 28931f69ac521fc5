# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "on_brokers"
require_relative "whole_application_contract"

module Penstock
  class WholeApplicationOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include WholeApplicationOnBrokers

    include WholeApplicationContract

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
