# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"
require "penstock/execution/processes/unit_origins"

module Penstock
  class ExecutionProcessUnitOriginsTest < TestCase
    Lane = Struct.new(:name, :marks)

    def lane(name) = Lane.new(name, Consumer::Marks.new)

    test "a unit's number identifies its lane among many others" do
      origins = Execution::Processes::UnitOrigins.new
      lanes = Array.new(3) { |index| lane("same").tap { |each| each.name = index } }
      numbers = Array.new(30) { |count| origins.number(lanes[count % 3], :"link#{count % 3}", count + 1) }

      assert_equal numbers.uniq, numbers
      numbers.each_with_index do |number, count|
        assert_equal [count % 3, :"link#{count % 3}"], [origins[number].lane.name, origins[number].loop_client]
      end
    end

    test "revoked lanes are forgotten when a new lane comes, and their units' numbers find nothing" do
      origins = Execution::Processes::UnitOrigins.new
      gone, kept = lane("gone"), lane("kept")
      numbers = [origins.number(gone, :link, 1), origins.number(kept, :link, 2)]
      gone.marks.end_ownership!
      origins.number(lane("new"), :link, 3)

      assert_equal [nil, kept], [origins[numbers[0]], origins[numbers[1]]&.lane]
    end
  end
end
