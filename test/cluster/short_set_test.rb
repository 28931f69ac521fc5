# frozen_string_literal: true

require "test_helper"
require "stringio"
require "support/cluster_case"
require "support/fault_runs/suite"

module Penstock
  # Much of the fault matrix in a short form, on three brokers. The long form: `bin/ledger all`.
  class ShortSetTest < TestCase
    include TestSupport::ClusterCase

    TestSupport::FaultRuns.cases.each_value do |one|
      next unless one.name.start_with?("S")

      test "#{one.name}: #{one.about}" do
        out = StringIO.new
        suite = TestSupport::FaultRuns::Suite.new(out: out, cluster: cluster)
        outcomes = suite.call(one, seed: rand(1 << 30))

        assert_equal [:passed], outcomes.map(&:state).uniq, out.string
      ensure
        suite&.close
      end
    end
  end
end
