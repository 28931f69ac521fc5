# frozen_string_literal: true

require "test_helper"
require "support/assembled"
require "support/assembled/combinations"

module Penstock
  # Runs combinations of a route's options for records once each, with outcomes from a fresh seed. One run has a quarter of
  # them, another one each time, in which any three options occur in all their combinations; PENSTOCK_ASSEMBLIES=all runs all.
  # `PENSTOCK_PROPERTY_SEED=N ruby -Itest -Ilib test/unit/processing/topic_pipeline_property_test.rb` runs one again.
  class EveryAssemblyTest < TestCase
    FROM = Integer(ENV.fetch("PENSTOCK_SIM_FROM") { ::Process.clock_gettime(::Process::CLOCK_REALTIME, :second) })
    ALL = TestSupport::Assembled::COMBINATIONS
    SEEDS = FROM...(FROM + ((ENV["PENSTOCK_ASSEMBLIES"] == "all") ? ALL.size : ALL.size / 4))

    # @return [Integer] how many different values any three options have together
    def triples(combinations)
      combinations.flat_map { |each| each.to_a.combination(3).to_a }.uniq.size
    end

    test "in every combination no unprocessed record is complete, and none is lost, doubled or held forever" do
      assert_equal [3 * (2**10), 1], [ALL.size, ALL.size.gcd(997)]
      SEEDS.each { |seed| TestSupport::Assembled.play(seed) }
    end

    test "the combinations of one run have any three options in all their combinations" do
      assert_equal triples(ALL), triples(SEEDS.map { |seed| TestSupport::Assembled.combination(seed) })
    end
  end
end
