# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "consumer_contract"

module Penstock
  class KnownConsumerOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    KnownConsumerContract.add_to(self)
  end
end
