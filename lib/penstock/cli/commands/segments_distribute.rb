# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Gives the segments of split groups the offsets their group had.
      class SegmentsDistribute < Segments::Move
        command "parallel_segments distribute", "Gives segments the offsets of their group", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Before the first start with parallel_segments, with all processes of the group stopped. Segments that have offsets
          already are left alone unless --force says otherwise. The group keeps its own.
        TEXT
        forces "also where segments have offsets"

        private

        def objections(plan) = plan.against_distributing

        def moves(plan) = plan.distribution
      end
    end
  end
end
