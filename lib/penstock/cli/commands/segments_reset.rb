# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Puts groups that are split and all their segments at one place: the lowest offset a segment has.
      class SegmentsReset < Segments::Move
        command "parallel_segments reset", "Puts all segments of a group at the lowest offset of any",
          usage: "[GROUP…] [options]", arguments: (0..)
        details <<~TEXT
          Before the number of segments, the partitioner or the reducer changes, with all processes of the group stopped: a record
          may then belong to another segment. What segments did beyond the lowest offset is done again; where there is such, --force
          is needed.
        TEXT
        forces "also where segments differ: from the lowest offset"

        private

        def objections(plan) = plan.against_collapsing

        def moves(plan) = plan.reset
      end
    end
  end
end
