# frozen_string_literal: true

require "test_helper"
require "support/killers/scenarios"
require "support/real_broker"

module Penstock
  # The ways that matter most; all of them, on both brokers, are run by `bin/test ledger`.
  class KillersOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios

    KillersScenarios.add_killers(self, {"SIGKILL" => "KILL", "exit!" => "exit!"})
    KillersScenarios.add_others(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
