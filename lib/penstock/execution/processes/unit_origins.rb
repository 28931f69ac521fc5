# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Remembers which lane each unit of one child came from. A thread that user code left running may send a request after its
      # unit has ended: the unit's number shows which lane is meant. An entry is kept as long as this process owns the lane.
      # Belongs to the child's {InFlight}.
      class UnitOrigins
        # The lower bits of a number count units, the upper ones lanes.
        BITS = 40
        private_constant :BITS

        Origin = Struct.new(:number, :lane, :loop_client)

        def initialize
          @by_lane = {}.compare_by_identity
          @by_number = {}
          @last = 0
        end

        # @param lane [Processing::Lane]
        # @param loop_client [#request] to the lane's poll loop
        # @param count [Integer] unique for each unit
        # @return [Integer] the unit's number, above zero
        def number(lane, loop_client, count) = ((@by_lane[lane] || add(lane, loop_client)).number << BITS) | count

        # @param unit [Integer] as {#number} gave it
        # @return [Origin, nil]
        def [](unit) = @by_number[unit >> BITS]

        private

        def add(lane, loop_client)
          forget
          @by_lane[lane] = @by_number[@last += 1] = Origin.new(@last, lane, loop_client)
        end

        # A revoked lane takes no requests.
        def forget
          gone = @by_number.each_value.reject { |origin| origin.lane.marks.owned? }
          gone.each do |origin|
            @by_number.delete(origin.number)
            @by_lane.delete(origin.lane)
          end
        end
      end
    end
  end
end
