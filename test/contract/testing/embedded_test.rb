# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "on_brokers"
require_relative "whole_application_contract"

module Penstock
  class WholeApplicationOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include WholeApplicationOnBrokers

    include WholeApplicationContract
  end
end
