# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Commits the group's offsets for all of its segments.
      class SegmentsDistribute < Segments::Move
        command "parallel_segments distribute", "Gives segments the offsets of their group", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Run it before the first start with parallel_segments, with all processes of the group stopped. Segments that already
          have offsets are not changed without --force. The group keeps its own offsets.
        TEXT
        forces "also where segments have offsets"

        private

        def objections(plan) = plan.against_distributing

        def moves(plan) = plan.distribution
      end
    end
  end
end
