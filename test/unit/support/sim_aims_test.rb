# frozen_string_literal: true

require "test_helper"
require "support/sim/plan"

# Tests how the simulator's plans are aimed at situations.
class SimAimsTest < Penstock::TestCase
  Plan = Penstock::TestSupport::Sim::Plan
  # Its plan has delay topics.
  SEED = 97_122_965

  def test_an_aimed_plan_has_no_delay_topics_whose_consumers_the_aim_would_change
    assert Plan.draw(SEED).hops
    assert_nil Plan.draw(SEED, aim: "pool: reply lost").hops
  end
end
