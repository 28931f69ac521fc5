# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/poison/scenarios"
require "support/real_broker"

module Penstock
  # The longest forms, with their figures: `bin/ledger T18`.
  module LongPoison
    include PoisonScenarios

    def scale = PoisonScenarios::Scale.new(12_000, 0.8, 3_000, Integer(ENV.fetch("PENSTOCK_OUTAGE_SECONDS", "60")), 2)
  end

  class PoisonOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::EmbeddedBroker
    include LongPoison

    PoisonScenarios.add_to(self)
  end

  class PoisonOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include LongPoison

    PoisonScenarios.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def create_topic(name, partitions)
      Admin.open(kafka) { |admin| admin.create_topic(name, partitions, 1) }
    end
  end
end
