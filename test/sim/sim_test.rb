# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/sim/campaign"

module Penstock
  # The real core on a fake Kafka, with faults drawn from a seed: see test/support/sim.
  class SimTest < TestCase
    KEPT = Dir[File.expand_path("seeds/*.json", __dir__)].sort
    # Fresh seeds every time (the number of seconds since 1970), unless the environment sets where to begin.
    FROM = Integer(ENV.fetch("PENSTOCK_SIM_FROM") { ::Process.clock_gettime(::Process::CLOCK_REALTIME, :second) })

    KEPT.each do |path|
      name = File.basename(path, ".json")
      test "a plan that once broke an invariant holds: #{name}" do
        assert_nil TestSupport::Sim::World.new(TestSupport::Sim::Plan.parse(File.read(path))).run
      end
    end

    test "the same seed gives the same run" do
      runs = Array.new(2) do
        world = TestSupport::Sim::World.new(TestSupport::Sim::Plan.draw(FROM), traced: true)
        world.run
        world
      end
      assert_equal(*runs.map(&:lines))
      assert_equal(*runs.map(&:digest))
    end

    test "fresh seeds keep every invariant of delivery" do
      campaign = TestSupport::Sim::Campaign.new(from: FROM, seconds: ENV.fetch("PENSTOCK_SIM_SECONDS", "20").to_f)
      problem = campaign.call
      puts campaign
      assert_nil problem, problem
      assert_operator campaign.seeds, :>, 0
      assert_empty campaign.coverage.missing(campaign.seeds), "occurred too seldom"
    end
  end
end
