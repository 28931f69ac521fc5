# frozen_string_literal: true

require "test_helper"
require "support/copiers/scenarios"
require "support/real_broker"

module Penstock
  # Exactly once, Kafka to Kafka: the short form; test/ledger has the long one.
  class CopiersTest < TestCase
    include TestSupport::RealBroker
    include CopiersScenarios

    test "[DLQ transactional] a copier killed at six points, with aborts and dead letters among its transactions: each record once, in order" do
      killed_at_each_point(rounds: 1)
    end
  end
end
