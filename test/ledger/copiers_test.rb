# frozen_string_literal: true

require "test_helper"
require "support/copiers/scenarios"
require "support/real_broker"

module Penstock
  # Exactly once, Kafka to Kafka: everything that may happen to a copier, several rounds of each.
  class EveryCopierTest < TestCase
    include TestSupport::RealBroker
    include CopiersScenarios

    [nil, "key"].each do |by|
      test "killed at six points, five rounds, #{by ? "by key" : "in order"}: each record once, in order" do
        killed_at_each_point(rounds: 5, by: by)
      end

      %w[produced marked before_offsets after_offsets].each do |point|
        test "a frozen owner that returns at #{point} commits nothing, #{by ? "by key" : "in order"}" do
          frozen_owner_returns(point, by: by)
        end
      end

      test "others come and go during its transactions, #{by ? "by key" : "in order"}: each record once, in order" do
        others_come_and_go(5, by: by)
      end
    end
  end
end
