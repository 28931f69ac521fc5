# frozen_string_literal: true

require "test_helper"
require "support/copiers/scenarios"
require "support/real_broker"

module Penstock
  # Who comes back after the others have given him up.
  class FrozenCopierTest < TestCase
    include TestSupport::RealBroker
    include CopiersScenarios

    test "a frozen owner that returns commits nothing" do
      frozen_owner_returns("marked", by: "key")
    end
  end
end
