# frozen_string_literal: true

require "test_helper"
require "support/assembled"
require "support/assembled/combinations"

module Penstock
  # Runs every combination of a route's options for records once, with outcomes from a fresh seed.
  # `PENSTOCK_PROPERTY_SEED=N ruby -Itest -Ilib test/unit/processing/topic_pipeline_property_test.rb` runs one again.
  class EveryAssemblyTest < TestCase
    FROM = Integer(ENV.fetch("PENSTOCK_SIM_FROM") { ::Process.clock_gettime(::Process::CLOCK_REALTIME, :second) })

    test "in every combination no unprocessed record is complete, and none is lost, doubled or held forever" do
      count = TestSupport::Assembled::COMBINATIONS.size
      assert_equal [3 * (2**10), 1], [count, count.gcd(997)]
      (FROM...(FROM + count)).each { |seed| TestSupport::Assembled.play(seed) }
    end
  end
end
