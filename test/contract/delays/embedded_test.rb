# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "delays_contract"

module Penstock
  class DelaysOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    DelaysContract.add_to(self)
    include DelaysContract
  end
end
