# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "penstock/admin"
require_relative "letters_contract"

module Penstock
  class LettersOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    LettersContract.add_to(self)
    include LettersContract

    def kafka = {"bootstrap.servers": bootstrap_servers, "auto.commit.interval.ms": 200}
  end
end
