# frozen_string_literal: true

require_relative "../segments/move"

module Penstock
  module CLI
    module Commands
      # Commits the lowest offset of all segments for the group, so that the group can be used without segments again.
      class SegmentsCollapse < Segments::Move
        command "parallel_segments collapse", "Gives a group the offsets of its segments", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          Run it before you remove parallel_segments, with all processes of the group stopped. Where segments have different
          offsets it does nothing without --force; with it the group gets the lowest offset, and what other segments did beyond
          it is done again. A segment without an offset counts with that of the group, from before it was split; if the group has none
          either, it gets none. Segments keep their offsets.
        TEXT
        forces "also where segments have different offsets: use the lowest one"

        private

        def objections(plan) = plan.against_collapsing

        def moves(plan) = plan.collapse
      end
    end
  end
end
