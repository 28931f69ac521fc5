# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/killers/scenarios"
require "support/real_broker"

module Penstock
  class KillersOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios

    KillersScenarios.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end

  class KillersOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios
    include TestSupport::EmbeddedBroker

    KillersScenarios.add_to(self)
  end
end
