# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "features_contract"

module Penstock
  class FeaturesOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    FeaturesContract.add_to(self)
    include FeaturesContract
  end
end
