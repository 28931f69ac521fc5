# frozen_string_literal: true

require "test_helper"
require "support/copiers/scenarios"
require "support/real_broker"

module Penstock
  # A copier that continues after its group and its coordinator have expelled it.
  class FrozenCopierTest < TestCase
    include TestSupport::RealBroker
    include CopiersScenarios

    test "a frozen owner that returns commits nothing" do
      frozen_owner_returns("marked", by: "key")
    end
  end
end
