# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"
require "penstock/execution/processes/homes"

module Penstock
  class ExecutionProcessHomesTest < TestCase
    Lane = Struct.new(:name, :marks)

    def lane(name) = Lane.new(name, Consumer::Marks.new)

    test "a unit's number says which lane it is of, however many others there are" do
      homes = Execution::Processes::Homes.new
      lanes = Array.new(3) { |index| lane("same").tap { |each| each.name = index } }
      numbers = Array.new(30) { |count| homes.number(lanes[count % 3], :"link#{count % 3}", count + 1) }

      assert_equal numbers.uniq, numbers
      numbers.each_with_index do |number, count|
        assert_equal [count % 3, :"link#{count % 3}"], [homes[number].lane.name, homes[number].link]
      end
    end

    test "lanes that were given up are forgotten with the next new one, and their numbers are nobody's" do
      homes = Execution::Processes::Homes.new
      gone, kept = lane("gone"), lane("kept")
      numbers = [homes.number(gone, :link, 1), homes.number(kept, :link, 2)]
      gone.marks.disown!
      homes.number(lane("new"), :link, 3)

      assert_equal [nil, kept], [homes[numbers[0]], homes[numbers[1]]&.lane]
    end
  end
end
