# frozen_string_literal: true

require "test_helper"
require "support/faults_scenarios"
require "support/real_broker"

module Penstock
  class EveryFaultTest < TestCase
    include TestSupport::RealBroker
    include FaultsScenarios

    FaultsScenarios.add_to(self)
  end
end
