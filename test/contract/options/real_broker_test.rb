# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "options_contract"

module Penstock
  class OptionsOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    OptionsContract.add_to(self)
    include OptionsContract

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}
  end
end
