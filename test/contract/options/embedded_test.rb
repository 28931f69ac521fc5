# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "options_contract"

module Penstock
  class OptionsOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    OptionsContract.add_to(self)
    include OptionsContract

    def kafka = {**super, "auto.commit.interval.ms": 200}
  end
end
