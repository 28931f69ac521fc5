# frozen_string_literal: true

require "test_helper"
require "support/sim/campaign"

# Tests how the simulator's checker is put together.
class SimCheckerTest < Penstock::TestCase
  Checker = Penstock::TestSupport::Sim::Checker

  def test_no_two_parts_of_the_checker_define_the_same_method
    parts = [Checker, *Checker.included_modules.select { |part| part.name&.start_with?("Penstock") }]
    methods = parts.flat_map { |part| part.instance_methods(false) + part.private_instance_methods(false) - [:initialize] }
    assert_empty methods.tally.select { |_name, count| count > 1 }, "one of them hides the other: a rule is never checked"
  end
end
