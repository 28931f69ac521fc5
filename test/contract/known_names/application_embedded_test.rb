# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "application_contract"

module Penstock
  class KnownApplicationOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    KnownApplicationContract.add_to(self)
  end
end
