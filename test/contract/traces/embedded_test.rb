# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "traces_contract"

module Penstock
  class TracesOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include TracesContract

    TracesContract.add_to(self)

    def native = super.slice("bootstrap.servers")
  end
end
