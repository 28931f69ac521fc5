# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require_relative "producer_contract"

module Penstock
  class KnownProducerOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KnownProducerContract

    KnownProducerContract.add_to(self)
  end
end
