# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require_relative "letters_contract"

module Penstock
  class LettersOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    LettersContract.add_to(self)
    include LettersContract

    def kafka = {**super, "auto.commit.interval.ms": 200}
    def native = super.slice("bootstrap.servers")
  end
end
