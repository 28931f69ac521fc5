# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Where the units of one child came from. A thread that user code left behind may wish for something when its unit has long
      # ended: the unit's number says which lane is meant. Kept as long as the lane is ours; belongs to the child's {Flight}.
      class Homes
        # Below it units are counted, above it lanes.
        BITS = 40
        private_constant :BITS

        Home = Struct.new(:number, :lane, :link)

        def initialize
          @by_lane = {}.compare_by_identity
          @by_number = {}
          @last = 0
        end

        # @param lane [Processing::Lane]
        # @param link [#request] the way to its poll loop
        # @param count [Integer] no other unit's
        # @return [Integer] the unit's number, above zero
        def number(lane, link, count) = ((@by_lane[lane] || add(lane, link)).number << BITS) | count

        # @param unit [Integer] as {#number} gave it
        # @return [Home, nil]
        def [](unit) = @by_number[unit >> BITS]

        private

        def add(lane, link)
          forget
          @by_lane[lane] = @by_number[@last += 1] = Home.new(@last, lane, link)
        end

        # Of what was given up nobody can wish for anything.
        def forget
          gone = @by_number.each_value.reject { |home| home.lane.marks.owned? }
          gone.each do |home|
            @by_number.delete(home.number)
            @by_lane.delete(home.lane)
          end
        end
      end
    end
  end
end
