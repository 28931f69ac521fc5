# frozen_string_literal: true

require "test_helper"
require "support/faults_scenarios"
require "support/real_broker"

module Penstock
  # Four of the ten points; `bin/test ledger` runs all of them.
  class FaultsBrokerTest < TestCase
    include TestSupport::RealBroker
    include FaultsScenarios

    FaultsScenarios.add_to(self, %i[before_unit after_commit_sent before_dead_letter before_answer_revoke])
  end
end
