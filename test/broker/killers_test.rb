# frozen_string_literal: true

require "test_helper"
require "support/killers/scenarios"
require "support/real_broker"

module Penstock
  # The most important ways; `bin/test ledger` runs all of them, on both brokers.
  class KillersOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios

    KillersScenarios.add_killers(self, {"SIGKILL" => "KILL", "exit!" => "exit!"})
    KillersScenarios.add_others(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
