# frozen_string_literal: true

module Penstock
  module Processing
    module Settlement
      # What deciders may look at beside the outcome: the lane, the time (monotonic ms) and the topic's policy.
      Context = Struct.new(:lane, :now, :backoff, :critical_errors, keyword_init: true) do
        # @return [Boolean] whether the outcome belongs to the lane's present life
        def current?(unit) = unit.incarnation == lane.incarnation

        def automatic? = !lane.topic.manual_offset_management?

        # Records of the unit that aren't complete, after the marks were taken.
        # @return [Messages]
        def rest(unit)
          base = lane.position
          base ? unit.messages.from_offset(base) : unit.messages
        end
      end
    end
  end
end
